//! The machine that this process runs on, as defaults follow it.

use salver_config::Machine;

/// Looks at the machine, which has to be done before a sandbox hides it.
pub(crate) fn look() -> Machine {
    let found = salver_os::resource_limits();
    Machine {
        cores: found.cores,
        cpu_quota: found.cpu_quota,
        physical_memory: found.physical_memory,
        memory_limit: found.memory_limit,
    }
}
