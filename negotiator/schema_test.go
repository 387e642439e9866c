package negotiator

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestSlotFromAd(t *testing.T) {
	const amount = ": must be a whole number from 0 to 1000000000000000"
	for _, c := range []struct {
		name, ad string
		want     backfill.Vector
		err      string
	}{
		{"static", `Name = "s"; Cpus = 4; Memory = 100`, backfill.Vector{4, 100}, ""},
		{
			"partitionable, nothing taken", `Name = "s"; Cpus = 8; TotalSlotCpus = 8; Memory = 100`,
			backfill.Vector{8, 100},
			"",
		},
		{
			"an expression", `Name = "s"; Cpus = 2 * DetectedCpus; DetectedCpus = 4; Memory = 7`,
			backfill.Vector{8, 7},
			"",
		},
		{"no memory", `Name = "s"; Cpus = 4`, backfill.Vector{4, 0}, ""},
		{"memory undefined", `Name = "s"; Cpus = 4; Memory = Nowhere`, backfill.Vector{4, 0}, ""},
		{
			"whole numbers as reals", `Name = "s"; Cpus = 8; TotalSlotCpus = 8.0; Memory = 100.0`,
			backfill.Vector{8, 100},
			"",
		},
		{"a real without bounds", `Name = "s"; Cpus = 1e300`, nil, "slot s: Cpus is 1.000000000000000E+300" + amount},
		{"not a number", `Name = "s"; Cpus = real("nan")`, nil, "slot s: Cpus is real(\"NaN\")" + amount},
		{"no cpus left over", `Name = "s"; Cpus = 0; Memory = 100`, backfill.Vector{0, 100}, ""},
		{"no name", `Cpus = 4`, nil, "the slot ad has no Name"},
		{"an empty name", `Name = ""; Cpus = 4`, nil, "the slot ad has no Name"},
		{"a name that is no string", `Name = 4; Cpus = 4`, nil, "the slot ad has no Name"},
		{"no cpus", `Name = "s"; Memory = 100`, nil, "slot s has no Cpus"},
		{"cpus are a word", `Name = "s"; Cpus = "four"`, nil, `slot s: Cpus is "four"` + amount},
		{"cpus negative", `Name = "s"; Cpus = -1`, nil, "slot s: Cpus is -1" + amount},
		{
			"cpus without bounds", `Name = "s"; Cpus = 9223372036854775807`,
			nil, "slot s: Cpus is 9223372036854775807" + amount,
		},
		{"memory negative", `Name = "s"; Cpus = 1; Memory = -1`, nil, "slot s: Memory is -1" + amount},
		{
			"memory in parts", `Name = "s"; Cpus = 4; Memory = 1000.5`, nil,
			"slot s: Memory is 1.000500000000000E+03" + amount,
		},
		{"memory in quotes", `Name = "s"; Cpus = 4; Memory = "1000"`, nil, `slot s: Memory is "1000"` + amount},
		{
			"all in all negative", `Name = "s"; Cpus = 1; TotalSlotCpus = -8`, nil,
			"slot s: TotalSlotCpus is -8" + amount,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ad(t, c.ad)
			s, err := twoResources().SlotFromAd(a)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, &Slot{Name: "s", Capacity: c.want, Ad: a}, s)
			require.Same(t, a, s.Ad)
		})
	}
}

// Jobs are matched with all that a partitionable slot has, not with what is left of it.
func TestAPartitionableSlotIsTakenWhole(t *testing.T) {
	a := ad(t, `Name = "s"; Cpus = 1; TotalSlotCpus = 8; Memory = 5; TotalSlotMemory = 100; Requirements = MY.Cpus > 4`)
	before := a.String()
	s, err := twoResources().SlotFromAd(a)
	require.NoError(t, err)
	require.Equal(t, backfill.Vector{8, 100}, s.Capacity)
	for attr, want := range map[string]int64{"Cpus": 8, "Memory": 100} {
		got, _ := s.Ad.Int(attr)
		require.Equal(t, want, got, attr)
	}
	require.Equal(t, before, a.String(), "what was handed over stays as it is")

	s, err = twoResources().SlotFromAd(ad(t, `Name = "s"; TotalSlotCpus = 8`))
	require.NoError(t, err)
	require.Equal(t, backfill.Vector{8, 0}, s.Capacity, "without Cpus")
}

func TestJobFromAd(t *testing.T) {
	seconds := func(low int64) string {
		return fmt.Sprintf(": must be a whole number from %d to %d", low, int64(backfill.MaxTime))
	}
	const named = "ClusterId = 7; ProcId = 3; QDate = 50; "
	base := Job{ID: 9, Name: "7.3", Submit: 50, Position: backfill.QueuePosition{Cluster: 7, Proc: 3}, Nodes: 1}
	for _, c := range []struct {
		name, ad string
		edit     func(*Job)
		err      string
	}{
		{"defaults", named, func(*Job) {}, ""},
		{"before the epoch", "ClusterId = 7; ProcId = 3; QDate = -50", func(j *Job) { j.Submit = -50 }, ""},
		{"a gang", named + "MinHosts = 4", func(j *Job) { j.Nodes = 4 }, ""},
		{"estimate", named + "EstimatedRunTime = 60", func(j *Job) { j.Estimate = 60 }, ""},
		{"the second of the estimates", named + "AllowedJobDuration = 70", func(j *Job) {
			j.Estimate, j.Limit = 70, 70
		}, ""},
		{"the first estimate counts", named + "AllowedJobDuration = 70; EstimatedRunTime = 60", func(j *Job) {
			j.Estimate, j.Limit = 60, 70
		}, ""},
		{"owner", named + `Owner = "eve"`, func(j *Job) { j.Labels = map[string]string{"owner": "eve"} }, ""},
		{"labels", named + `Owner = "eve"; AcctGroup = "physics"; AccountingGroup = "physics.eve"; ProjectName = ""; ` +
			`QOS = "fast"; Cmd = "/bin/a"`, func(j *Job) {
			j.Labels = map[string]string{
				"owner": "eve", "group": "physics", "account": "physics.eve", "qos": "fast",
				"executable": "/bin/a",
			}
		}, ""},
		{"an expression", named + "EstimatedRunTime = 60 * Minutes; Minutes = 3", func(j *Job) {
			j.Estimate = 180
		}, ""},
		{"no ClusterId", "ProcId = 3; QDate = 50", nil, "the job ad has no ClusterId and ProcId"},
		{"no ProcId", "ClusterId = 7; QDate = 50", nil, "the job ad has no ClusterId and ProcId"},
		{"no QDate", "ClusterId = 7; ProcId = 3", nil, "job 7.3: QDate is missing"},
		{
			"QDate is a word", `ClusterId = 7; ProcId = 3; QDate = "now"`, nil,
			`job 7.3: QDate is "now"` + seconds(-backfill.MaxTime),
		},
		{
			"QDate beyond all bounds", "ClusterId = 7; ProcId = 3; QDate = 9223372036854775807", nil,
			"job 7.3: QDate is 9223372036854775807" + seconds(-backfill.MaxTime),
		},
		{"no hosts", named + "MinHosts = 0", nil, "job 7.3: MinHosts is 0: must be a whole number from 1 to 1048576"},
		{
			"one and a half hosts", named + "MinHosts = 1.5",
			nil, "job 7.3: MinHosts is 1.500000000000000E+00: must be a whole number from 1 to 1048576",
		},
		{"no estimate at all", named + "EstimatedRunTime = 0", nil, "job 7.3: EstimatedRunTime is 0" + seconds(1)},
		{
			"an estimate in quotes", named + `EstimatedRunTime = "60"`, nil,
			`job 7.3: EstimatedRunTime is "60"` + seconds(1),
		},
		{
			"an estimate beyond all bounds", named + "EstimatedRunTime = 9223372036854775807", nil,
			"job 7.3: EstimatedRunTime is 9223372036854775807" + seconds(1),
		},
		{
			"a limit of nothing", named + "EstimatedRunTime = 60; AllowedExecuteDuration = 0", nil,
			"job 7.3: AllowedExecuteDuration is 0" + seconds(1),
		},
		{
			"cpus negative", named + "RequestCpus = -4", nil,
			"job 7.3: RequestCpus is -4: must be a whole number from 0 to 1000000000000000",
		},
		{
			"cpus in parts", named + "RequestCpus = 1.5", nil,
			"job 7.3: RequestCpus is 1.500000000000000E+00: must be a whole number from 0 to 1000000000000000",
		},
		{
			"cpus beyond all bounds, of all hosts together", named + "MinHosts = 1000; RequestCpus = 1000000000001",
			nil, "job 7.3: RequestCpus is 1000000000001: must be a whole number from 0 to 1000000000000",
		},
		{"memory undefined", named + "RequestMemory = MemoryUsage", func(*Job) {}, ""},
		{"an estimate undefined", named + "EstimatedRunTime = Nowhere; AllowedJobDuration = 70", func(j *Job) {
			j.Estimate, j.Limit = 70, 70
		}, ""},
		{"a limit beside an estimate", named + "EstimatedRunTime = 60; AllowedJobDuration = 100", func(j *Job) {
			j.Estimate, j.Limit = 60, 100
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ad(t, c.ad)
			schema := DefaultSchema()
			j, err := schema.JobFromAd(9, a)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			want := base
			want.Ad = a
			c.edit(&want)
			require.Equal(t, &want, j)
		})
	}
}

func TestRequest(t *testing.T) {
	for _, c := range []struct {
		ad   string
		want backfill.Vector
	}{
		{"X = 1", backfill.Vector{1, 0}},
		{"RequestMemory = 5", backfill.Vector{1, 5}},
		{"RequestCpus = 0; RequestMemory = 7", backfill.Vector{0, 7}},
		{"requestcpus = 2 + 2", backfill.Vector{4, 0}},
	} {
		r, err := twoResources().Request(ad(t, c.ad), 3)
		require.NoError(t, err, c.ad)
		require.Equal(t, c.want, r, c.ad)
	}
	_, err := twoResources().Request(ad(t, "RequestCpus = 0; RequestMemory = 0"), 1)
	require.EqualError(t, err, "it asks for nothing: RequestCpus must be at least 1 where nothing else is requested")
}

// TestLabelsThatAKeyNames: attributes are read whatever their case and type, in addition to the
// labels of every job.
func TestLabelsThatAKeyNames(t *testing.T) {
	s := twoResources()
	s.Labels = []string{"owner", "jobbatchname", "JobPrio", "executable", "nonesuch"}
	require.Equal(t, map[string]string{"owner": "ann", "jobbatchname": "b", "JobPrio": "3", "executable": "x"},
		s.LabelsOf(ad(t, `Owner = "ann"; JobBatchName = "b"; JobPrio = 3; Cmd = "x"`), nil))
	require.Nil(t, s.LabelsOf(ad(t, "QDate = 1"), nil))
	require.Equal(t, []string{"Owner", "jobbatchname", "JobPrio", "Cmd", "nonesuch"}, s.LabelAttributes())
}

// Labels that users made long are cut, and still tell jobs apart.
func TestLongLabels(t *testing.T) {
	s := Schema{Labels: []string{"Batch"}}
	long := strings.Repeat("é", 5000)
	seen := map[string]bool{}
	for range 2 {
		for _, end := range []string{"1", "2"} {
			found := s.LabelsOf(ad(t, fmt.Sprintf("Owner = %q; QOS = %q; Batch = %q", strings.Repeat("o", 256), long+end, long+end)), nil)
			require.Len(t, found["owner"], 256)
			require.Equal(t, found["qos"], found["Batch"])
			require.Less(t, len(found["qos"]), 257)
			require.True(t, strings.HasPrefix(found["qos"], long[:200]))
			require.True(t, utf8.ValidString(found["qos"]))
			seen[found["qos"]] = true
		}
	}
	require.Len(t, seen, 2)
}
