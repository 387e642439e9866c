package formats

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// SWF is the Standard Workload Format. Any text may be meant as SWF, even an empty one.
var SWF = &Format{
	Holds:      "a trace in the Standard Workload Format",
	Recognises: func([]byte) bool { return true },
	Read: func(text *packed.Reader, name string, o Options) (*Jobs, error) {
		trace, err := workload.ReadSWF(text, name, o.Options)
		if err != nil {
			return nil, err
		}
		return &Jobs{Trace: trace}, nil
	},
	Write:     func(t *workload.Trace, to io.Writer) error { return t.WriteSWF(to) },
	Extension: ".swf",
	Description: `SWF, the Standard Workload Format (https://www.cs.huji.ac.il/labs/parallel/workload/swf.html)
  Lines that begin with ; are the header, of which "; MaxProcs: N" gives the processors of the machine;
  "; UnixStartTime: S" and "; TimeZoneString: Europe/Paris" say when second 0 was, for expressions of ads.
  Memory of the machine is "; MachineMemory: N", in MiB; MaxMemory is a limit of jobs, and not heeded.
  Its GPUs are "; MachineGPUs: N"; then a nineteenth number of each line is the GPUs of the job.
  Each other line is a job, 18 numbers with blanks, tabs, semicolons, commas or bars between them; -1 is
  unknown, and a job whose submit time is unknown is left out. Of numbers with decimals, run time and
  requested time are rounded up and others down. Lines that begin with # are skipped. A first line may
  name the columns, which then are at least submit, run and procs, in any order:

   1 job number             7 used memory, KB per processor        13 group
   2 submit time, s         8 requested processors                 14 executable
   3 wait time, s           9 requested time, s                    15 queue
   4 run time, s           10 requested memory, KB per processor   16 partition
   5 allocated processors  11 status: 1 completed, 0 failed,       17 preceding job
   6 average CPU time, s      5 cancelled                          18 think time, s
                           12 user

  Names are id, submit, wait, run, procs, cputime, mem, reqprocs, reqtime, reqmem, status, user, group,
  app, queue, partition, preceding, think, or what these are short for, such as Submit Time.

  A job that names a job of a line before as preceding is submitted after the end of that one and the
  think time; where that is unknown (-1), when it was or at that end, whichever is later. If that job is
  left out, it is submitted when it was; so are all with --dependencies ignore.

  The trace of Frontier has 21 fields: behind those above the job's GPUs, a soft limit, and a text such as
  frontier:excl:2500x112, whose 2500 nodes are the width of the job. Its machine has MaxNodes of them.

  ; MaxProcs: 4
  1 0 -1 60 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1
`,
}
