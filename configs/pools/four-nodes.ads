# Four nodes of a cluster of 2016: two sockets with four cores each, 16 GiB.
# One partitionable slot a node. Memory is in MiB, disk in KiB.
MyType = "Machine"
Name = "slot1@node1.cluster"
Machine = "node1.cluster"
SlotType = "Partitionable"
SlotTypeID = 1
PartitionableSlot = true
Cpus = 8
Memory = 16384
Disk = 209715200
TotalSlotCpus = 8
TotalSlotMemory = 16384
TotalSlotDisk = 209715200
OpSys = "LINUX"
Arch = "X86_64"
State = "Unclaimed"
Activity = "Idle"
Start = true
WithinResourceLimits = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory && MY.Disk >= TARGET.RequestDisk
Requirements = START && (WithinResourceLimits)
Rank = 0.0

MyType = "Machine"
Name = "slot1@node2.cluster"
Machine = "node2.cluster"
SlotType = "Partitionable"
SlotTypeID = 1
PartitionableSlot = true
Cpus = 8
Memory = 16384
Disk = 209715200
TotalSlotCpus = 8
TotalSlotMemory = 16384
TotalSlotDisk = 209715200
OpSys = "LINUX"
Arch = "X86_64"
State = "Unclaimed"
Activity = "Idle"
Start = true
WithinResourceLimits = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory && MY.Disk >= TARGET.RequestDisk
Requirements = START && (WithinResourceLimits)
Rank = 0.0

MyType = "Machine"
Name = "slot1@node3.cluster"
Machine = "node3.cluster"
SlotType = "Partitionable"
SlotTypeID = 1
PartitionableSlot = true
Cpus = 8
Memory = 16384
Disk = 209715200
TotalSlotCpus = 8
TotalSlotMemory = 16384
TotalSlotDisk = 209715200
OpSys = "LINUX"
Arch = "X86_64"
State = "Unclaimed"
Activity = "Idle"
Start = true
WithinResourceLimits = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory && MY.Disk >= TARGET.RequestDisk
Requirements = START && (WithinResourceLimits)
Rank = 0.0

MyType = "Machine"
Name = "slot1@node4.cluster"
Machine = "node4.cluster"
SlotType = "Partitionable"
SlotTypeID = 1
PartitionableSlot = true
Cpus = 8
Memory = 16384
Disk = 209715200
TotalSlotCpus = 8
TotalSlotMemory = 16384
TotalSlotDisk = 209715200
OpSys = "LINUX"
Arch = "X86_64"
State = "Unclaimed"
Activity = "Idle"
Start = true
WithinResourceLimits = MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory && MY.Disk >= TARGET.RequestDisk
Requirements = START && (WithinResourceLimits)
Rank = 0.0

