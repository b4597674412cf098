# Devices in use, as only a kernel with md and the device mapper has them: none of them may be written to, whatever the
# user says. Prints one line for each and ends with the number of those that were not refused.
wrong=0

# refused WHAT DEVICE WORD: `kurabe` refuses to write to it, names the reason, and not a byte of it changes.
refused() {
    before=$(sha256sum "$2")
    kurabe fio --name=t --rw=randwrite --size=1m --filename="$2" --yes-erase="$2" > /tmp/out 2> /tmp/err
    code=$?
    after=$(sha256sum "$2")
    if [ $code -eq 2 ] && grep -q -- "$3" /tmp/err && [ "$before" = "$after" ]; then
        echo "held     $1 ($2): refused, \`$3\` named"
    else
        echo "NOT HELD $1 ($2): code $code, wanted \`$3\`:"
        cat /tmp/err
        wrong=$((wrong + 1))
    fi
}

# disk NAME: an empty disk of 64 MiB.
disk() {
    truncate -s 64M "/tmp/$1.img"
    losetup --find --show "/tmp/$1.img"
}

a=$(disk a)
b=$(disk b)
mdadm --create /dev/md7 --level=1 --raid-devices=2 --metadata=1.2 --bitmap=none --run "$a" "$b" > /tmp/md.log 2>&1 || cat /tmp/md.log
refused "half of a mirror" "$a" md7
refused "the other half" "$b" md7
mkfs.ext4 -q /dev/md7
mount -o ro /dev/md7 /mnt
refused "a disk below a mounted mirror" "$a" md7
refused "a mounted mirror" /dev/md7 mounted
umount /mnt
refused "a mirror with a file system" /dev/md7 "software RAID array"
mdadm --stop /dev/md7 2> /tmp/md.log
refused "half of a mirror at rest" "$a" "software RAID"

c=$(disk c)
echo "0 65536 linear $c 0" | dmsetup create seven --noudevsync
dmsetup mknodes seven
refused "a disk with a mapped one on it" "$c" dm-
mkfs.ext4 -q /dev/mapper/seven
mount -o ro /dev/mapper/seven /mnt
refused "a mapped disk that is mounted" /dev/mapper/seven mounted
umount /mnt

d=$(disk d)
mkswap "$d" > /tmp/swap.log
swapon "$d"
refused "a swap area in use" "$d" swap
swapoff "$d"

e=$(disk e)
kurabe fio --name=t --rw=randwrite --size=1m --filename="$e" --yes-erase="$e" > /tmp/out 2> /tmp/err
code=$?
if [ $code -eq 0 ]; then
    echo "held     an empty disk ($e): written with leave"
else
    echo "NOT HELD an empty disk ($e): code $code:"
    cat /tmp/err
    wrong=$((wrong + 1))
fi
exit $wrong
