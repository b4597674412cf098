//! Virtual or not, and whose machine it is.
//!
//! The hypervisor's own signature comes first, then firmware tables, then the kernel. On x86 a missing `hypervisor`
//! flag means bare metal, whatever the firmware's vendor is called: clouds rent out bare metal too. Xen's control
//! domain counts as bare metal. Elsewhere firmware tables and device trees decide, and without them it stays unknown.

use super::{Probes, cpu::Info, fact};
use model::host::{Fact, PlatformFacts};
use sys::tree::Tree;

const DMI: &str = "/sys/class/dmi/id";
const DEVICE_TREE: &str = "/sys/firmware/devicetree/base";

/// How hypervisors introduce themselves through the CPU: the signatures that their own documentation gives.
const SIGNATURES: [(&str, &str); 12] = [
    ("KVMKVMKVM", "kvm"),
    ("Linux KVM Hv", "kvm"),
    ("TCGTCGTCGTCG", "qemu"),
    ("Microsoft Hv", "hyper-v"),
    ("VMwareVMware", "vmware"),
    ("XenVMMXenVMM", "xen"),
    ("bhyve bhyve", "bhyve"),
    ("VBoxVBoxVBox", "virtualbox"),
    ("prl hyperv", "parallels"),
    ("lrpepyh vr", "parallels"),
    ("ACRNACRNACRN", "acrn"),
    ("OpenBSDVMM58", "openbsd-vmm"),
];

/// What virtual machines write into their firmware tables, in any of vendor, product, board and BIOS.
const FIRMWARE: [(&str, &str); 15] = [
    ("VirtualBox", "virtualbox"),
    ("innotek GmbH", "virtualbox"),
    ("VMware", "vmware"),
    ("Xen", "xen"),
    ("HVM domU", "xen"),
    ("KVM", "kvm"),
    ("KubeVirt", "kvm"),
    ("OpenStack", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("Alibaba Cloud ECS", "kvm"),
    ("Droplet", "kvm"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "apple"),
    ("QEMU", "qemu"),
];

/// What board makers leave in the table when they do not fill it in.
const FILLERS: [&str; 8] = [
    "to be filled by o.e.m.",
    "system manufacturer",
    "system product name",
    "default string",
    "not specified",
    "not applicable",
    "o.e.m.",
    "none",
];

pub(super) fn facts(tree: &Tree, info: &Info, probes: &Probes) -> PlatformFacts {
    PlatformFacts {
        virtualization: virtualization(tree, info, probes),
        vendor: vendor(tree),
        product: product(tree),
    }
}

/// The maker: of the firmware table, or the first half of the device tree's `maker,board`.
fn vendor(tree: &Tree) -> Fact<String> {
    fact(dmi(tree, "sys_vendor").or_else(|why| {
        compatible(tree)
            .and_then(|text| Some(text.split_once(',')?.0.to_owned()))
            .ok_or(why)
    }))
}

/// The machine's name in the firmware table, or the device tree's model.
pub(super) fn product(tree: &Tree) -> Fact<String> {
    let model = || tree.read_trimmed(&format!("{DEVICE_TREE}/model"));
    fact(dmi(tree, "product_name").or_else(|why| model().map_err(|_| why)))
}

fn dmi(tree: &Tree, name: &str) -> Result<String, String> {
    let path = format!("{DMI}/{name}");
    let text = tree
        .read_trimmed(&path)
        .map_err(|error| error.to_string())?;
    if FILLERS.contains(&text.to_ascii_lowercase().as_str()) {
        return Err(format!("`{path}` only says `{text}`"));
    }
    Ok(text)
}

/// The first, most specific entry of the device tree's list of what the machine is compatible with.
fn compatible(tree: &Tree) -> Option<String> {
    let text = tree
        .read_trimmed(&format!("{DEVICE_TREE}/compatible"))
        .ok()?;
    text.split('\0').next().map(str::to_owned)
}

fn virtualization(tree: &Tree, info: &Info, probes: &Probes) -> Fact<Option<String>> {
    let known = |name: &str| Fact::Known(Some(name.to_owned()));
    if control_domain(tree) {
        return Fact::Known(None);
    }
    if let Some(name) = by_kernel(tree, info) {
        return known(name);
    }
    let firmware = by_firmware(tree);
    // VirtualBox may run on another hypervisor's interface and show that one's signature.
    if firmware == Ok(Some("virtualbox")) {
        return known("virtualbox");
    }
    if let Some(signature) = &probes.hypervisor {
        let name = SIGNATURES.iter().find(|(text, _)| text == signature);
        return known(name.map_or(signature, |(_, name)| name));
    }
    let flags = info.values("flags").next();
    let flagged = flags.map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    match (flagged, firmware) {
        // No flag, no hypervisor: only hardware leaves it out.
        (Some(false), _) => Fact::Known(None),
        (_, Ok(Some(name))) => known(name),
        (Some(true), _) => known("unknown"),
        (None, firmware) => match by_device_tree(tree) {
            Some(name) => known(name),
            None if compatible(tree).is_some() || firmware.is_ok() => Fact::Known(None),
            None => Fact::Missing(firmware.err().unwrap_or_default()),
        },
    }
}

/// Xen's dom0 sees the hardware.
fn control_domain(tree: &Tree) -> bool {
    tree.read("/proc/xen/capabilities")
        .is_ok_and(|text| text.contains("control_d"))
}

/// Kernels that know that they are guests, without flag or table.
fn by_kernel(tree: &Tree, info: &Info) -> Option<&'static str> {
    if tree
        .read_trimmed("/sys/hypervisor/type")
        .is_ok_and(|kind| kind == "xen")
    {
        return Some("xen");
    }
    if info.values("vendor_id").next() == Some("User Mode Linux") {
        return Some("uml");
    }
    // s390: `VM00 Control Program: KVM/Linux`.
    let system = tree.read("/proc/sysinfo").ok()?;
    let program = system
        .lines()
        .find(|line| line.starts_with("VM00 Control Program"))?;
    Some(if program.contains("KVM") {
        "kvm"
    } else {
        "zvm"
    })
}

/// The hypervisor that the firmware tables name, `None` where they name none; an error where there are no tables.
fn by_firmware(tree: &Tree) -> Result<Option<&'static str>, String> {
    let read = |name: &str| tree.read_trimmed(&format!("{DMI}/{name}"));
    let names = ["product_name", "sys_vendor", "board_vendor", "bios_vendor"];
    let texts: Vec<String> = names.iter().filter_map(|name| read(name).ok()).collect();
    let (product, vendor) = (read("product_name"), read("sys_vendor"));
    if let (Ok(product), Ok(vendor)) = (&product, &vendor) {
        // Both makers sell hardware, or rent it out, under the same vendor name.
        if vendor == "Microsoft Corporation" && product == "Virtual Machine" {
            return Ok(Some("hyper-v"));
        }
        if vendor == "Amazon EC2" {
            return Ok((!product.contains(".metal")).then_some("kvm"));
        }
        if vendor == "Hetzner" && product == "vServer" {
            return Ok(Some("kvm"));
        }
    }
    let named = FIRMWARE
        .iter()
        .find(|(text, _)| texts.iter().any(|found| found.starts_with(text)))
        .map(|(_, name)| *name);
    match (named, texts.is_empty(), product) {
        (None, true, Err(error)) => Err(error.to_string()),
        _ => Ok(named),
    }
}

fn by_device_tree(tree: &Tree) -> Option<&'static str> {
    if let Ok(text) = tree.read_trimmed(&format!("{DEVICE_TREE}/hypervisor/compatible")) {
        return Some(match text.split('\0').next() {
            Some("linux,kvm") => "kvm",
            Some("vmware") => "vmware",
            Some(text) if text.starts_with("xen") => "xen",
            _ => "unknown",
        });
    }
    // The board that QEMU and Firecracker make up for their ARM guests.
    (compatible(tree)? == "linux,dummy-virt").then_some("kvm")
}
