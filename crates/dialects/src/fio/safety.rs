//! Paths that are never laid out as files.

/// True for a name below `/dev`, where nothing may ever be laid out as a file.
pub fn names_device(path: &str) -> bool {
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".");
    path.starts_with('/')
        && parts.next() == Some("dev")
        && parts.next().is_some_and(|part| part != "shm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_recognised_by_name() {
        let check = |path: &str, expect: bool| assert_eq!(names_device(path), expect, "{path}");
        check("/dev/sda", true);
        check("//dev/./nvme0n1", true);
        check("/dev/disk/by-id/x", true);
        check("/dev/shm/file", false);
        check("dev/sda", false);
        check("/devices/x", false);
        check("/dev", false);
    }
}
