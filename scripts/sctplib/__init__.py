"""What scripts/sctp runs in its virtual machine."""
