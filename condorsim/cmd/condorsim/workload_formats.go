package main

import "fmt"

// formatsCommand is condorsim workload formats.
type formatsCommand struct{}

// Run prints the description.
func (*formatsCommand) Run() error {
	_, err := fmt.Print(formats)
	return err
}

// formats describes the formats that are read, for users who have nothing but the command.
const formats = `What a file holds is seen by how it begins, whatever its name. It may be compressed with gzip, xz or
zstd, and - is standard input.

SWF, the Standard Workload Format (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html)
  Lines that begin with ; are the header, of which "; MaxProcs: N" gives the processors of the machine.
  Each other line is a job, 18 numbers with blanks between them; -1 is unknown:

   1 job number             7 used memory, KB per processor        13 group
   2 submit time, s         8 requested processors                 14 executable
   3 wait time, s           9 requested time, s                    15 queue
   4 run time, s           10 requested memory, KB per processor   16 partition
   5 allocated processors  11 status: 1 completed, 0 failed,       17 preceding job
   6 average CPU time, s      5 cancelled                          18 think time, s
                           12 user

  ; MaxProcs: 4
  1 0 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1

Job ads of HTCondor
  What condor_history and condor_q print with -long, -json, -jsonl or -xml, and history files.
  ClusterId, ProcId, QDate and RemoteWallClockTime are needed; --estimate-attr names the attribute with
  the requested time.

Instances, small workloads in JSON
  Times are in seconds, memory is in MiB for the whole job; memory 0 is none. An estimate is at least 1
  and at least the run time. "expected" may hold results, and is not needed:

{
 "name": "small",
 "processors": 4,
 "memory": 0,
 "jobs": [
  {"id": 1, "submit": 0, "run": 60, "estimate": 100, "procs": 2, "memory": 0},
  {"id": 2, "submit": 5, "run": 10, "estimate": 20, "procs": 4, "memory": 0}
 ]
}

Not read, but recognised: Slurm's sacct, the accounting logs of PBS, workloads of Batsim, CSV. Make SWF
of them: a line for each job that ended, with the numbers above, sorted by submit time.
`
