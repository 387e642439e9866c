package slurm_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// read reads a text; the machine has memory.
func read(t *testing.T, text string, o workload.Options) *workload.Trace {
	t.Helper()
	trace, err := try(text, o)
	require.NoError(t, err)
	return trace
}

func try(text string, o workload.Options) (*workload.Trace, error) {
	r, err := packed.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if o.Memory == 0 {
		o.Memory = workload.AnyMemory
	}
	o.KeepRequests = true // also the GPUs
	return slurm.Read(r, "jobs.txt", o)
}

// one reads the one job of a text.
func one(t *testing.T, text string, o workload.Options) workload.Job {
	t.Helper()
	trace := read(t, text, o)
	require.Len(t, trace.Jobs, 1, "%v", trace.Cleaning.LeftOut())
	j := trace.Jobs[0]
	j.Recorded = nil
	return j
}

const titles = "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|Submit|Eligible|Start|End|ElapsedRaw|" +
	"TimelimitRaw|AllocCPUS|ReqCPUS|NNodes|ReqMem|AllocTRES|ReqTRES\n"

// Every column that is printed by the command of the documentation is used.
func TestRow(t *testing.T) {
	text := titles + "12|12|c|ann|physics|gpu|high|train|COMPLETED|2024-05-01T10:00:00|2024-05-01T10:05:00|" +
		"2024-05-01T10:06:00|2024-05-01T10:07:30|90|60|8|4|2|4G|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=2|" +
		"billing=4,cpu=4,gres/gpu=1,mem=4G,node=2\n"
	want := workload.Job{
		ID: 12, Run: 90, Estimate: 3600, Procs: 8, Memory: 16 << 10, GPUs: 2, Wait: 60, Waited: 60, HasWaited: true,
		User: "ann", Group: "physics", Executable: "train", Queue: "gpu/high", Held: true,
	}
	require.Equal(t, want, one(t, text, workload.Options{}))
	trace := read(t, text, workload.Options{Zone: "Europe/Paris"})
	require.EqualValues(t, 1714550700, trace.Header.Start()) // 08:05 UTC
	require.Equal(t, "Europe/Paris", trace.Header.Text("TimeZoneString"))
	require.Equal(t, 1, trace.Cleaning.HeldBefore)
	require.Equal(t, "jobs", trace.Name)
	require.EqualValues(t, 8, trace.Machine.Processors)
	require.Empty(t, trace.Warnings)
	require.Equal(t, map[int64]int{1: 1}, trace.Statuses)
	require.EqualValues(t, 1714557900, read(t, text, workload.Options{}).Header.Start())

	want.Procs, want.GPUs = 4, 1
	require.Equal(t, want, one(t, text, workload.Options{ProcsField: workload.ProcsRequested, MemoryModel: workload.MemoryUsed}))
	want.Procs, want.GPUs, want.Memory = 8, 2, 4<<10
	require.Equal(t, want, one(t, text, workload.Options{MemoryModel: workload.MemoryRequested}))
}

// A column with its value, and what becomes of it.
func TestColumns(t *testing.T) {
	type job = workload.Job
	base := map[string]string{
		"JobID": "7", "Submit": "1000", "Start": "1100", "ElapsedRaw": "60", "AllocCPUS": "2", "State": "COMPLETED",
		"Eligible": "1000",
	}
	for _, c := range []struct {
		columns string // NAME=VALUE with bars between them; without a value the column is left out
		want    func(j *job)
	}{
		{"JobID=|JobIDRaw=9", func(j *job) { j.ID = 9 }},
		{"JobID=12_3|JobIDRaw=15", func(j *job) { j.ID = 15 }},
		{"JobID=12_3", func(j *job) { j.ID = 1 }},
		{"JobID=12+0|JobIDRaw=12", func(j *job) { j.ID = 12 }},
		{"Timelimit=1-02:03:04", func(j *job) { j.Estimate = 93784 }},
		{"Timelimit=01:00:00", func(j *job) { j.Estimate = 3600 }},
		{"Timelimit=05:30", func(j *job) { j.Estimate = 330 }},
		{"Timelimit=2", func(j *job) { j.Estimate = 120 }},
		{"Timelimit=1-00", func(j *job) { j.Estimate = 86400 }},
		{"Timelimit=UNLIMITED", nil},
		{"Timelimit=Partition_Limit", nil},
		{"Timelimit=01:00:00|TimelimitRaw=2", func(j *job) { j.Estimate = 120 }},
		{"TimelimitRaw=2|Timelimit=01:00:00", func(j *job) { j.Estimate = 120 }},
		{"TimelimitRaw=UNLIMITED", nil},
		{"TimelimitRaw=", nil},
		{"Timelimit=00:00:30", func(j *job) { j.Origin, j.Beside = workload.Raised, 30 }},
		{"ElapsedRaw=|Elapsed=00:01:10", func(j *job) { j.Run, j.Estimate = 70, 70 }},
		{"ElapsedRaw=|Elapsed=1-00:00:00", func(j *job) { j.Run, j.Estimate = 86400, 86400 }},
		{"ElapsedRaw=|End=1190", func(j *job) { j.Run, j.Estimate = 90, 90 }},
		{"AllocCPUS=0|ReqCPUS=3", func(j *job) { j.Procs = 3 }},
		{"AllocCPUS=|NCPUS=4|ReqCPUS=3", func(j *job) { j.Procs = 4 }},
		{"AllocCPUS=|AllocTRES=cpu=5|NCPUS=4", func(j *job) { j.Procs = 5 }},
		{"AllocCPUS=|ReqTRES=cpu=6", func(j *job) { j.Procs = 6 }},
		{"ReqMem=4000M", func(j *job) { j.Memory = 4000 }},
		{"ReqMem=4000", func(j *job) { j.Memory = 4000 }},
		{"ReqMem=1.5T", func(j *job) { j.Memory = 1536 << 10 }},
		{"ReqMem=0.5M", func(j *job) { j.Memory = 1 }},
		{"ReqMem=100K", func(j *job) { j.Memory = 1 }},
		{"ReqMem=2Gc", func(j *job) { j.Memory = 4 << 10 }},
		{"ReqMem=2Gc|ReqCPUS=3", func(j *job) { j.Memory = 6 << 10 }},
		{"ReqMem=4Gn|NNodes=3", func(j *job) { j.Memory = 12 << 10 }},
		{"ReqMem=4Gn|AllocNodes=2", func(j *job) { j.Memory = 8 << 10 }},
		{"ReqMem=4Gn|ReqNodes=2", func(j *job) { j.Memory = 8 << 10 }},
		{"ReqMem=16Gn", func(j *job) { j.Memory = 16 << 10 }},
		{"ReqMem=0", nil},
		{"ReqMem=0n", nil},
		{"ReqMem=4G|ReqTRES=cpu=2,mem=5G", func(j *job) { j.Memory = 5 << 10 }},
		{"ReqTRES=cpu=2,mem=5G|AllocTRES=cpu=2,mem=0.25G", func(j *job) { j.Memory = 256 }},
		{"AllocTRES=cpu=2,gres/gpu=4,gres/gpumem=0", func(j *job) { j.GPUs = 4 }},
		{"AllocTRES=cpu=2,gres/gpu:a100=3,gres/gpu:v100=1,gres/nvme=7", func(j *job) { j.GPUs = 4 }},
		{"ReqTRES=gres/gpu:a100=2", func(j *job) { j.GPUs = 2 }},
		{"AllocGRES=gpu:2", func(j *job) { j.GPUs = 2 }},
		{"AllocGRES=gpu:a100:2(S:0-1),nvme:1", func(j *job) { j.GPUs = 2 }},
		{"ReqGRES=gpu:2|NNodes=3", func(j *job) { j.GPUs = 6 }},
		{"ReqGRES=PER_NODE:gpu:v100:1", func(j *job) { j.GPUs = 1 }},
		{"ReqGRES=gpu", func(j *job) { j.GPUs = 1 }},
		{"ReqGRES=craynetwork:1", nil},
		{"AllocGRES=", nil},
		{"User=ann|Account=a|Partition=p|QOS=normal|JobName=x", func(j *job) {
			j.User, j.Group, j.Queue, j.Executable = "ann", "a", "p", "x"
		}},
		{"QOS=high", func(j *job) { j.Queue = "high" }},
		{"Partition=p|QOS=p", func(j *job) { j.Queue = "p" }},
		{"State=CANCELLED by 1001", nil},
		{"State=TIMEOUT", nil},
		{"State=NODE_FAIL", nil},
		{"State=OUT_OF_MEMORY", nil},
		{"State=PREEMPTED", nil},
		{"State=A_STATE_OF_LATER_VERSIONS", nil},
		{"State=", nil},
		{"Eligible=1050", func(j *job) { j.Wait, j.Waited, j.Held = 50, 50, true }},
		{"Eligible=Unknown", nil},
		{"Eligible=1200", func(j *job) { j.Wait, j.Waited, j.Held = 0, 0, true }},
		{"Submit=|Eligible=1040", func(j *job) { j.Wait, j.Waited = 60, 60 }},
		{"Start=900", func(j *job) { j.Wait, j.Waited, j.HasWaited, j.WrongStart = 0, 0, false, true }},
		{"Start=Unknown", func(j *job) { j.Wait, j.Waited, j.HasWaited = 0, 0, false }},
		{"Submit=1970-01-01T00:16:40|Start=1970-01-01T01:18:20+0100", nil},
		{"Comment=anything", nil},
	} {
		values := maps.Clone(base)
		var names, row []string
		order := []string{"JobID", "Submit", "Eligible", "Start", "ElapsedRaw", "AllocCPUS", "State"}
		for pair := range strings.SplitSeq(c.columns, "|") {
			name, value, _ := strings.Cut(pair, "=")
			if _, given := values[name]; !given {
				order = append(order, name)
			}
			values[name] = value
		}
		for _, name := range order {
			if _, usual := base[name]; usual && values[name] == "" {
				continue
			}
			names, row = append(names, name), append(row, values[name])
		}
		want := job{ID: 7, Run: 60, Estimate: 60, Procs: 2, Wait: 100, Waited: 100, HasWaited: true, Origin: workload.Assumed}
		if c.want != nil {
			c.want(&want)
		}
		if want.Estimate != want.Run {
			want.Origin = workload.Stated
		}
		for _, delimiter := range []string{"|", "\t", ";;"} {
			text := strings.Join(names, delimiter) + delimiter + "\n" + strings.Join(row, delimiter) + delimiter + "\n"
			require.Equal(t, want, one(t, text, workload.Options{}), text)
		}
	}
}

// Errors have file, line, column and what to do.
func TestFaults(t *testing.T) {
	const start = "JobID|JobName|Submit|ElapsedRaw|AllocCPUS|Timelimit|ReqMem|AllocTRES|State|Start|Eligible\n"
	row := func(change ...string) string {
		values := []string{"1", "x", "100", "60", "2", "60", "1G", "cpu=2", "COMPLETED", "100", "100"}
		for i := 0; i < len(change); i += 2 {
			for k, name := range strings.Split(strings.TrimSpace(start), "|") {
				if name == change[i] {
					values[k] = change[i+1]
				}
			}
		}
		return strings.Join(values, "|") + "\n"
	}
	require.Len(t, read(t, start+row(), workload.Options{}).Jobs, 1)
	for text, want := range map[string]string{
		start: "jobs.txt: there is no job in it; print jobs: sacct -a -X -P ",
		start + row() + row("JobID", "x"): `jobs.txt:3: column 1 (JobID): "x" is no number of a job, such as 12, 12_3, ` +
			`12_[4-9], 12+1 or 12.batch; correct the row or delete it`,
		start + row("Submit", "Ystday 10:00"): `jobs.txt:2: column 3 (Submit): "Ystday 10:00" is no date such as ` +
			`2024-05-01T10:00:00 and no Unix time; print dates as sacct does unless SLURM_TIME_FORMAT is set`,
		start + row("Submit", "2024-13-01T00:00:00"): "column 3 (Submit)",
		start + row("ElapsedRaw", "-5"):              `jobs.txt:2: column 4 (ElapsedRaw): "-5" is no time such as`,
		start + row("AllocCPUS", "two"):              `column 5 (AllocCPUS): "two" is no amount such as 4, 4000M or 1.5T`,
		start + row("AllocCPUS", "99999999999999"):   `column 5 (AllocCPUS)`,
		start + row("Timelimit", "soon"):             `column 6 (Timelimit): "soon" is no time such as`,
		start + row("ReqMem", "4X"):                  `column 7 (ReqMem): "4X" is no memory such as 4000M`,
		start + row("AllocTRES", "cpu"):              `column 8 (AllocTRES): "cpu" "cpu" is no resource such as cpu=4 or mem=16G`,
		start + row("AllocTRES", "cpu=x"):            `has no amount such as 4 or 16G`,
		start + "1|x|100\n":                          "jobs.txt:2: the row has 3 of 11 columns; if it is the last one, the file may be truncated",
		start + "1|x|100\n" + row():                  "jobs.txt:2: the row has 3 of 11 columns",
		start + "1|a|b|c|100\n" + row():              "jobs.txt:2: the row has 5 of 11 columns",
		"JobID|Submit|AllocCPUS\n": "jobs.txt:1: there is no column ElapsedRaw, nor Elapsed, nor End among " +
			"JobID,Submit,AllocCPUS; print it as well: sacct -a -X -P -S 2024-01-01 -o JobID,JobIDRaw,",
		"JobID|Submit|End|AllocCPUS\n":      "no column Start beside End",
		"JobID|ElapsedRaw|AllocCPUS\n":      "there is no column Submit, nor Eligible",
		"JobID|Submit|ElapsedRaw\n":         "there is no column AllocCPUS, nor ReqCPUS, nor NCPUS, nor AllocTRES, nor ReqTRES",
		"# only\n":                          "there is no row in it",
		"1|x|COMPLETED\n":                   "the first line has no names of columns; print them: without --noheader",
		"JobID Submit\n":                    "the first line has no names of columns",
		"JobID|" + strings.Repeat("a", 2e6): "jobs.txt:1: the line has more than 1048576 bytes; this is no table of sacct",
	} {
		_, err := try(text, workload.Options{})
		require.ErrorContains(t, err, want, head(text))
	}
	_, err := try(start+row(), workload.Options{Zone: "Mars"})
	require.EqualError(t, err, `zone: "Mars": must be a name of the IANA, such as Europe/Paris`)
}

func head(text string) string { return text[:min(len(text), 300)] }

// Texts that people choose may have the delimiter, and ends of lines, in them.
func TestTextsWithDelimiters(t *testing.T) {
	const titles = "JobID|JobName|Submit|Start|Eligible|ElapsedRaw|AllocCPUS|State|Comment\n"
	const behind = "|100|100|100|60|2|COMPLETED|"
	trace := read(t, titles+"1|a|b"+behind+"\n"+"2|c"+behind+"one\ntwo\n"+"3|d|e|f"+behind+"x\n"+titles+"\n"+
		"4|g"+behind+"x|y\n", workload.Options{})
	var names []string
	for _, j := range trace.Jobs {
		names = append(names, j.Executable)
	}
	require.Equal(t, []string{"a|b", "c", "d|e|f", "g"}, names)
	require.Equal(t, 8, trace.Cleaning.Lines)
}

// Columns whose absence changes what results mean are missed; so is what jobs ask for in vain.
func TestWarnings(t *testing.T) {
	trace := read(t, "JobID|Cluster|Submit|Elapsed|NCPUS|Constraints|Reservation|Licenses\n"+
		"1|a|100|01:00|2|ib||x:1\n2|b|100|01:00|2||r|\n3|b|100|01:00|2|(null)||\n", workload.Options{CPUs: 4})
	require.Equal(t, []string{
		"there is no column State: jobs that were cancelled, or run again, are taken for others; sacct -o prints it",
		"there is no column Start: what really happened is not known; sacct -o prints it",
		"there is no column Eligible: jobs that were held, or waited for others, arrive when they were submitted; sacct -o " +
			"prints it",
		"it has jobs of 2 clusters, which are read as those of one machine: print those of one (sacct -M NAME)",
		"1 jobs ask for constraints, which is not heeded: they run where there is room",
		"1 jobs ask for a reservation, which is not heeded: they run where there is room",
		"1 jobs ask for licenses, which is not heeded: they run where there is room",
	}, trace.Warnings)
	require.Len(t, trace.Jobs, 3)
	same := read(t, "JobID|Cluster|Submit|Elapsed|NCPUS\n1|a|100|01:00|2\n1|b|100|01:00|2\n1||100|01:00|2\n", workload.Options{})
	require.Equal(t, []string{"1: 0 +0 60/60 x2", "2: 0 +0 60/60 x2", "3: 0 +0 60/60 x2"}, described(same))
}
