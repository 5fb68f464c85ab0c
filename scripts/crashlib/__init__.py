"""Parts of scripts/crash-points: what it makes the virtual machine of, and what runs in there."""
