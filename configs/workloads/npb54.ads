# 54 jobs modelled on the NAS parallel benchmarks; see README.md. Generated: go test ./configs -update
# One submitted each second. RequestCpus, RequestMemory (MiB) and RequestDisk (KiB) are per node, times in seconds.
MyType = "Job"
ClusterId = 1
ProcId = 0
Owner = "bob"
QDate = 0
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 1
RequestMemory = 1536
RequestDisk = 409600
Cmd = "ft.B.2"
EstimatedRunTime = 60
RemoteWallClockTime = 26
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 1
Owner = "alice"
QDate = 1
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 512
RequestDisk = 1638400
Cmd = "cg.C.16"
EstimatedRunTime = 30
RemoteWallClockTime = 19
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 2
Owner = "bob"
QDate = 2
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 2
RequestMemory = 4864
RequestDisk = 1638400
Cmd = "mg.C.2"
EstimatedRunTime = 60
RemoteWallClockTime = 34
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 3
Owner = "bob"
QDate = 3
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 7
RequestMemory = 1280
RequestDisk = 1638400
Cmd = "sp.C.25"
EstimatedRunTime = 90
RemoteWallClockTime = 43
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 4
Owner = "carol"
QDate = 4
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 2
RequestMemory = 256
RequestDisk = 409600
Cmd = "ep.B.2"
EstimatedRunTime = 120
RemoteWallClockTime = 32
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 5
Owner = "carol"
QDate = 5
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 1024
RequestDisk = 102400
Cmd = "bt.A.16"
EstimatedRunTime = 30
RemoteWallClockTime = 7
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 6
Owner = "carol"
QDate = 6
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 1
RequestMemory = 4096
RequestDisk = 1638400
Cmd = "is.C.1"
EstimatedRunTime = 90
RemoteWallClockTime = 23
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 7
Owner = "carol"
QDate = 7
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 2
RequestMemory = 256
RequestDisk = 102400
Cmd = "lu.A.8"
EstimatedRunTime = 60
RemoteWallClockTime = 10
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 8
Owner = "dave"
QDate = 8
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 2
RequestMemory = 768
RequestDisk = 409600
Cmd = "cg.B.2"
EstimatedRunTime = 180
RemoteWallClockTime = 42
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 9
Owner = "alice"
QDate = 9
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 512
RequestDisk = 102400
Cmd = "lu.A.16"
EstimatedRunTime = 30
RemoteWallClockTime = 6
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 10
Owner = "carol"
QDate = 10
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 6144
RequestDisk = 1638400
Cmd = "ft.C.4"
EstimatedRunTime = 180
RemoteWallClockTime = 54
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 11
Owner = "dave"
QDate = 11
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 1792
RequestDisk = 1638400
Cmd = "is.C.16"
EstimatedRunTime = 30
RemoteWallClockTime = 4
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 12
Owner = "bob"
QDate = 12
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 4
RequestMemory = 1024
RequestDisk = 409600
Cmd = "bt.B.4"
EstimatedRunTime = 180
RemoteWallClockTime = 81
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 13
Owner = "bob"
QDate = 13
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 2
RequestMemory = 512
RequestDisk = 409600
Cmd = "mg.B.8"
EstimatedRunTime = 30
RemoteWallClockTime = 4
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 14
Owner = "alice"
QDate = 14
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 4
RequestMemory = 768
RequestDisk = 409600
Cmd = "sp.B.4"
EstimatedRunTime = 90
RemoteWallClockTime = 57
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 15
Owner = "bob"
QDate = 15
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 512
RequestDisk = 409600
Cmd = "ep.B.16"
EstimatedRunTime = 30
RemoteWallClockTime = 6
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 16
Owner = "dave"
QDate = 16
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 2
RequestMemory = 16128
RequestDisk = 1638400
Cmd = "ft.C.2"
EstimatedRunTime = 540
RemoteWallClockTime = 90
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 17
Owner = "alice"
QDate = 17
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 768
RequestDisk = 102400
Cmd = "sp.A.16"
EstimatedRunTime = 30
RemoteWallClockTime = 6
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 18
Owner = "carol"
QDate = 18
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 1
RequestMemory = 4096
RequestDisk = 1638400
Cmd = "is.C.1"
EstimatedRunTime = 90
RemoteWallClockTime = 24
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 19
Owner = "alice"
QDate = 19
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 768
RequestDisk = 409600
Cmd = "bt.B.16"
EstimatedRunTime = 30
RemoteWallClockTime = 22
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 20
Owner = "alice"
QDate = 20
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 256
RequestDisk = 409600
Cmd = "lu.B.4"
EstimatedRunTime = 90
RemoteWallClockTime = 58
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 21
Owner = "bob"
QDate = 21
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 512
RequestDisk = 1638400
Cmd = "cg.C.16"
EstimatedRunTime = 30
RemoteWallClockTime = 18
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 22
Owner = "dave"
QDate = 22
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 4864
RequestDisk = 1638400
Cmd = "mg.C.16"
EstimatedRunTime = 30
RemoteWallClockTime = 7
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 23
Owner = "bob"
QDate = 23
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 4
RequestMemory = 512
RequestDisk = 1638400
Cmd = "ep.C.8"
EstimatedRunTime = 60
RemoteWallClockTime = 32
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 24
Owner = "carol"
QDate = 24
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 1
RequestMemory = 4096
RequestDisk = 1638400
Cmd = "is.C.1"
EstimatedRunTime = 90
RemoteWallClockTime = 24
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 25
Owner = "alice"
QDate = 25
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 8
RequestMemory = 1024
RequestDisk = 409600
Cmd = "ft.B.32"
EstimatedRunTime = 30
RemoteWallClockTime = 4
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 26
Owner = "carol"
QDate = 26
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 768
RequestDisk = 1638400
Cmd = "cg.C.4"
EstimatedRunTime = 210
RemoteWallClockTime = 59
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 27
Owner = "bob"
QDate = 27
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 4
RequestMemory = 2816
RequestDisk = 1638400
Cmd = "mg.C.8"
EstimatedRunTime = 30
RemoteWallClockTime = 13
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 28
Owner = "bob"
QDate = 28
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 1
RequestMemory = 256
RequestDisk = 102400
Cmd = "bt.A.1"
EstimatedRunTime = 180
RemoteWallClockTime = 70
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 29
Owner = "dave"
QDate = 29
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 5
RequestMemory = 768
RequestDisk = 102400
Cmd = "sp.A.9"
EstimatedRunTime = 60
RemoteWallClockTime = 9
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 30
Owner = "bob"
QDate = 30
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 1
RequestMemory = 256
RequestDisk = 409600
Cmd = "ep.B.2"
EstimatedRunTime = 60
RemoteWallClockTime = 32
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 31
Owner = "dave"
QDate = 31
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 4
RequestMemory = 768
RequestDisk = 409600
Cmd = "lu.B.8"
EstimatedRunTime = 210
RemoteWallClockTime = 33
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 32
Owner = "bob"
QDate = 32
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 2
RequestMemory = 512
RequestDisk = 409600
Cmd = "cg.B.2"
EstimatedRunTime = 90
RemoteWallClockTime = 40
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 33
Owner = "bob"
QDate = 33
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 512
RequestDisk = 409600
Cmd = "ep.B.16"
EstimatedRunTime = 30
RemoteWallClockTime = 6
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 34
Owner = "dave"
QDate = 34
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 512
RequestDisk = 102400
Cmd = "sp.A.4"
EstimatedRunTime = 120
RemoteWallClockTime = 17
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 35
Owner = "alice"
QDate = 35
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 1024
RequestDisk = 1638400
Cmd = "is.C.16"
EstimatedRunTime = 30
RemoteWallClockTime = 4
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 36
Owner = "carol"
QDate = 36
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 1
RequestMemory = 256
RequestDisk = 102400
Cmd = "lu.A.2"
EstimatedRunTime = 90
RemoteWallClockTime = 28
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 37
Owner = "dave"
QDate = 37
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 2816
RequestDisk = 1638400
Cmd = "bt.C.16"
EstimatedRunTime = 420
RemoteWallClockTime = 80
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 38
Owner = "alice"
QDate = 38
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 4
RequestMemory = 4352
RequestDisk = 1638400
Cmd = "ft.C.8"
EstimatedRunTime = 60
RemoteWallClockTime = 27
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 39
Owner = "carol"
QDate = 39
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 8
RequestMemory = 2304
RequestDisk = 1638400
Cmd = "mg.C.32"
EstimatedRunTime = 30
RemoteWallClockTime = 5
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 40
Owner = "dave"
QDate = 40
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 4
RequestMemory = 4352
RequestDisk = 1638400
Cmd = "mg.C.8"
EstimatedRunTime = 60
RemoteWallClockTime = 12
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 41
Owner = "dave"
QDate = 41
JobUniverse = 11
MinHosts = 3
MaxHosts = 3
RequestCpus = 3
RequestMemory = 768
RequestDisk = 409600
Cmd = "bt.B.9"
EstimatedRunTime = 180
RemoteWallClockTime = 37
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 42
Owner = "alice"
QDate = 42
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 256
RequestDisk = 409600
Cmd = "ep.B.4"
EstimatedRunTime = 30
RemoteWallClockTime = 18
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 43
Owner = "carol"
QDate = 43
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 8
RequestMemory = 1280
RequestDisk = 1638400
Cmd = "cg.C.16"
EstimatedRunTime = 60
RemoteWallClockTime = 18
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 44
Owner = "alice"
QDate = 44
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 1
RequestMemory = 1280
RequestDisk = 409600
Cmd = "ft.B.2"
EstimatedRunTime = 60
RemoteWallClockTime = 24
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 45
Owner = "dave"
QDate = 45
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 3
RequestMemory = 768
RequestDisk = 409600
Cmd = "sp.B.9"
EstimatedRunTime = 180
RemoteWallClockTime = 32
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 46
Owner = "dave"
QDate = 46
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 2816
RequestDisk = 1638400
Cmd = "is.C.4"
EstimatedRunTime = 60
RemoteWallClockTime = 9
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

MyType = "Job"
ClusterId = 1
ProcId = 47
Owner = "dave"
QDate = 47
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 8
RequestMemory = 1536
RequestDisk = 1638400
Cmd = "lu.C.32"
EstimatedRunTime = 180
RemoteWallClockTime = 33
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 48
Owner = "alice"
QDate = 48
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 256
RequestDisk = 409600
Cmd = "lu.B.4"
EstimatedRunTime = 120
RemoteWallClockTime = 61
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 49
Owner = "dave"
QDate = 49
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 4
RequestMemory = 1536
RequestDisk = 1638400
Cmd = "bt.C.16"
EstimatedRunTime = 390
RemoteWallClockTime = 90
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 50
Owner = "dave"
QDate = 50
JobUniverse = 11
MinHosts = 2
MaxHosts = 2
RequestCpus = 2
RequestMemory = 768
RequestDisk = 409600
Cmd = "sp.B.4"
EstimatedRunTime = 300
RemoteWallClockTime = 58
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 51
Owner = "alice"
QDate = 51
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 8
RequestMemory = 1024
RequestDisk = 409600
Cmd = "ft.B.32"
EstimatedRunTime = 30
RemoteWallClockTime = 4
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 52
Owner = "alice"
QDate = 52
JobUniverse = 11
MinHosts = 1
MaxHosts = 1
RequestCpus = 1
RequestMemory = 768
RequestDisk = 409600
Cmd = "is.B.1"
EstimatedRunTime = 30
RemoteWallClockTime = 8
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = 0.0

MyType = "Job"
ClusterId = 1
ProcId = 53
Owner = "carol"
QDate = 53
JobUniverse = 11
MinHosts = 4
MaxHosts = 4
RequestCpus = 8
RequestMemory = 2304
RequestDisk = 1638400
Cmd = "mg.C.32"
EstimatedRunTime = 30
RemoteWallClockTime = 5
Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus)
Rank = TARGET.Memory

