package matchmaker

import (
	"sync"

	"github.com/condor-backfill/condor-backfill/classad"
)

// usualJob returns a job with the attributes to which the START of a slot most often refers. Nothing
// in it is written by a user: so what a slot's Requirements take for it is the slot's own fault, and
// no user can have a slot appear expensive.
var usualJob = sync.OnceValue(func() *classad.ClassAd {
	job, err := classad.ParseOld(usualText)
	if err != nil {
		panic(err) // the text is a constant
	}
	return job
})

const usualText = `MyType = "Job"
GlobalJobId = "schedd.example.org#1.0#1700000000"
ClusterId = 1
ProcId = 0
Owner = "user"
User = "user@example.org"
AccountingGroup = "group.user"
AcctGroup = "group"
ScheddName = "schedd.example.org"
JobUniverse = 5
JobStatus = 1
JobPrio = 0
QDate = 1700000000
Cmd = "/home/user/job/run.sh"
Args = "--input data.txt"
Iwd = "/home/user/job"
In = "/dev/null"
Out = "out.txt"
Err = "err.txt"
Environment = "HOME=/home/user LANG=C PATH=/usr/bin:/bin"
ShouldTransferFiles = "YES"
RequestCpus = 1
RequestMemory = 2048
RequestDisk = 1000000
RequestGPUs = 0
ImageSize = 100000
DiskUsage = 1000
MemoryUsage = 100
MinHosts = 1
MaxHosts = 1
NumJobStarts = 0
Rank = 0
Requirements = TARGET.Arch == "X86_64" && TARGET.Disk >= RequestDisk && TARGET.Memory >= RequestMemory
`
