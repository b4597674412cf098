#!/bin/busybox sh
# The first process of a guest: mounts what programs expect, runs the job that lies on the disk, and ends the machine.
export PATH=/sbin:/bin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for module in $(cat /mod/order); do
    insmod "/mod/$module.ko" || echo "init: no module $module"
done
until [ -b /dev/vda ]; do sleep 0.1; done
mount -t ext4 /dev/vda /scratch
hostname guest
ip link set lo up
bash /scratch/job.sh > /scratch/job.log 2>&1
echo $? > /scratch/job.status
umount /scratch
poweroff -f
