package history_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// read reads ads in the line form; semicolons stand for ends of lines, and two of them end an ad.
func read(t *testing.T, o history.Options, text string) *history.History {
	t.Helper()
	if o.Schema.Resources == nil {
		o.Schema = negotiator.DefaultSchema()
	}
	h, err := history.Read(strings.NewReader(strings.ReplaceAll(text, ";", "\n")), "folder/test.ads", o)
	require.NoError(t, err)
	return h
}

// done returns the ad of a job that completed after 60 s, with more attributes.
func done(cluster int, more string) string {
	return fmt.Sprintf("ClusterId = %d; ProcId = 0; QDate = 1000; JobStatus = 4; RemoteWallClockTime = 60.0; %s;;",
		cluster, more)
}

func TestHistory(t *testing.T) {
	file, err := os.Open("testdata/history.long")
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // only read
	h, err := history.Read(file, "testdata/history.long", history.Options{Schema: negotiator.DefaultSchema()})
	require.NoError(t, err)
	require.Equal(t, workload.Cleaning{
		JobsRead: 9, Cancelled: 1, Removed: 1, NotOnSlots: 1, Unfinished: 1,
		Unreadable: 1, Repeated: 1, Ads: true,
	}, h.Cleaning)
	type job struct {
		name             string
		id, submit, run  int64
		estimate, procs  int64
		memory           int64
		nodes            int
		user, group, cmd string
	}
	var got []job
	for _, j := range h.Jobs {
		got = append(got, job{
			j.Name, j.ID, j.Submit, j.Run, j.Estimate, j.Procs, j.Memory, int(j.Nodes), j.User, j.Group,
			j.Executable,
		})
	}
	require.Equal(t, []job{
		{"812.0", 1, 0, 3601, 7200, 4, 4096, 1, "ann", "group_physics", "/home/ann/fit.sh"},
		{"813.0", 2, 60, 1800, 0, 16, 32768, 8, "bob", "", "/opt/mpi/run"},
		{"812.1", 3, 120, 900, 7200, 4, 2443, 1, "ann", "group_physics", "/home/ann/fit.sh"},
	}, got)
	require.EqualValues(t, 20, h.Peak, "812.0 and 813.0 together; 812.1 began when they were done")
}

func TestRunTimes(t *testing.T) {
	for _, c := range []struct {
		name, ad string
		clean    workload.Clean
		run      int64 // -1: dropped
	}{
		{"completed", "JobStatus = 4; RemoteWallClockTime = 60", "", 60},
		{"a real, rounded up", "JobStatus = 4; RemoteWallClockTime = 60.2", "", 61},
		{"no status", "RemoteWallClockTime = 60", "", 60},
		{
			"the last of several runs",
			"JobStatus = 4; RemoteWallClockTime = 600.0; JobRunCount = 3; CommittedTime = 100",
			"", 100,
		},
		{
			"several runs and no word of the last",
			"JobStatus = 4; RemoteWallClockTime = 600.0; NumJobStarts = 3; CommittedTime = 0", "", 600,
		},
		{"one run", "JobStatus = 4; RemoteWallClockTime = 600.0; JobRunCount = 1; CommittedTime = 100", "", 600},
		{"less than a second", "JobStatus = 4; RemoteWallClockTime = 0.0; JobStartDate = 7", "", 0},
		{"never ran", "JobStatus = 4; RemoteWallClockTime = 0.0", "", -1},
		{"no run time", "JobStatus = 4", "", -1},
		{"negative", "JobStatus = 4; RemoteWallClockTime = -5", "", -1},
		{"beyond all bounds", "JobStatus = 4; RemoteWallClockTime = 1e300", "", -1},
		{"removed", "JobStatus = 3; RemoteWallClockTime = 60", "", -1},
		{"removed, and that counts", "JobStatus = 3; RemoteWallClockTime = 60", workload.CleanNone, 60},
		{
			"removed, and only what is in a queue is dropped", "JobStatus = 3; RemoteWallClockTime = 60",
			workload.CleanPartial, 60,
		},
		{"removed before it ran", "JobStatus = 3; RemoteWallClockTime = 0.0", workload.CleanNone, -1},
		{"held", "JobStatus = 5; RemoteWallClockTime = 60; EstimatedRunTime = 70", "", -1},
		{"idle", "JobStatus = 1; RemoteWallClockTime = 0.0; EstimatedRunTime = 70", "", -1},
		{
			"idle, taken at its word", "JobStatus = 1; RemoteWallClockTime = 0.0; EstimatedRunTime = 70",
			workload.CleanNone, 70,
		},
		{"idle, without a word", "JobStatus = 1; RemoteWallClockTime = 0.0", workload.CleanNone, -1},
		{"running, taken at its word", "JobStatus = 2; EstimatedRunTime = 70", workload.CleanCancelled, 70},
		{"a DAG", "JobUniverse = 7; RemoteWallClockTime = 60", workload.CleanNone, -1},
	} {
		h := read(t, history.Options{Clean: c.clean}, "ClusterId = 1; ProcId = 0; QDate = 5; "+c.ad)
		require.Equal(t, 1, h.Cleaning.JobsRead, c.name)
		n := h.Cleaning
		dropped := n.Cancelled + n.NegativeRun + n.Removed + n.Unfinished + n.Unreadable + n.NotOnSlots
		if c.run < 0 {
			require.Empty(t, h.Jobs, c.name)
			require.Equal(t, 1, dropped, "%s: counted once", c.name)
			continue
		}
		require.Len(t, h.Jobs, 1, c.name)
		require.Zero(t, dropped, c.name)
		require.Equal(t, c.run, h.Jobs[0].Run, c.name)
	}
}

func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name, ad      string
		procs, memory int64
		nodes         int
	}{
		{"nothing", "", 1, 0, 1},
		{"an expression", "RequestCpus = 2; RequestMemory = RequestCpus * 1000.5", 2, 2001, 1},
		{
			"as submit writes it, before it ran",
			"ImageSize = 2500; RequestMemory = ifthenelse(MemoryUsage =!= undefined,MemoryUsage,(ImageSize + " +
				"1023) / 1024)", 1, 3, 1,
		},
		{
			"as submit writes it, after it ran",
			"ResidentSetSize = 5000; MemoryUsage = ((ResidentSetSize + 1023) / 1024); " +
				"RequestMemory = ifthenelse(MemoryUsage =!= undefined,MemoryUsage,7)", 1, 5, 1,
		},
		{"what was given instead", "RequestCpus = undefined; CpusProvisioned = 3; MemoryProvisioned = 10", 3, 10, 1},
		{"what was used instead", "MemoryUsage = 9", 1, 9, 1},
		{"an error, and what was given", "RequestCpus = error; CpusProvisioned = 2; RequestMemory = -1; MemoryProvisioned = 9", 2, 9, 1},
		{"a gang", "JobUniverse = 11; MinHosts = 3; MaxHosts = 3; RequestCpus = 2; RequestMemory = 10", 6, 30, 3},
		{"hosts of a job that has none", "JobUniverse = 5; MinHosts = 3; RequestCpus = 2", 2, 0, 1},
		{"MachineCount", "JobUniverse = 11; MachineCount = 4", 4, 0, 4},
	} {
		h := read(t, history.Options{}, done(1, c.ad))
		require.Len(t, h.Jobs, 1, "%s: %+v", c.name, h.Cleaning)
		j := h.Jobs[0]
		require.Equal(t, []int64{c.procs, c.memory, int64(c.nodes)}, []int64{j.Procs, j.Memory, int64(j.Nodes)}, c.name)
	}
	for _, bad := range []string{
		"JobUniverse = 11; MinHosts = 0", "QDate = undefined", "ProcId = \"x\"",
	} {
		h := read(t, history.Options{}, done(1, bad)+done(2, ""))
		require.Len(t, h.Jobs, 1, bad)
		require.Equal(t, 1, h.Cleaning.Unreadable, bad)
	}
	require.Equal(t, 1, read(t, history.Options{}, done(1, "RequestCpus = 0")).Cleaning.NoProcessors)
}

// A request that is text, negative or true matches no slot in HTCondor: the job is left out and named. So is one
// that is an error, unless it asks what TARGET has.
func TestRequestsThatAreNoAmounts(t *testing.T) {
	for request, value := range map[string]string{
		`RequestMemory = "2 GB"`: `"2 GB"`, `RequestCpus = "2"`: `"2"`, "RequestDisk = -5": "-5", "RequestGPUs = true": "true",
		"RequestMemory = 1 / 0": "error", "RequestMemory = 2e12": "2.000000000000000E+12", "RequestCpus = { 2 }": "{ 2 }",
	} {
		h := read(t, history.Options{}, done(1, "RequestCpus = 1")+done(2, request)+done(3, request))
		require.Equal(t, workload.Cleaning{JobsRead: 3, NoAmount: 2, Ads: true}, h.Cleaning)
		attr, _, _ := strings.Cut(request, " = ")
		require.Equal(t, []string{"folder/test.ads:8: job 2.0: " + attr + " is " + value + ": must be a number from 0 to 1e12; " +
			"the requests of 2 jobs are no amounts: they match no slot in HTCondor, and are left out"}, h.Warnings())
	}
	for _, request := range []string{
		"RequestGpus = false", "RequestMemory = undefined", "RequestMemory = MemoryUsage * 2", "RequestMemory = 1e3",
		"RequestCpus = max({1, TARGET.Cpus / \"2\"})",
	} {
		h := read(t, history.Options{WithAds: true}, done(1, request))
		require.Equal(t, workload.Cleaning{JobsRead: 1, Ads: true}, h.Cleaning, request)
		require.Empty(t, h.Warnings())
	}
}

func TestEstimates(t *testing.T) {
	for _, c := range []struct {
		attrs []string
		ad    string
		want  int64
	}{
		{nil, "", 0},
		{nil, "AllowedJobDuration = 9; AllowedExecuteDuration = 8", 8},
		{nil, "AllowedJobDuration = 9; EstimatedRunTime = 7", 7},
		{nil, "MaxRuntime = 5", 0},
		{[]string{"MaxRuntime"}, "MaxRuntime = 60 * Minutes; Minutes = 2", 120},
		{[]string{"A", "B"}, "A = undefined; B = 5.5", 6},
		{[]string{"A", "B"}, "A = 0; B = 5", 5},
		{[]string{"A"}, "A = \"an hour\"", 0},
	} {
		o := history.Options{Schema: negotiator.DefaultSchema()}
		if c.attrs != nil {
			o.Schema.Estimates = c.attrs
		}
		const known = "MaxRuntime = 3; A = 3; B = 3" // to another job, so that the attributes are there
		require.Equal(t, c.want, read(t, o, done(1, c.ad)+done(2, known)).Jobs[0].Estimate, c.ad)
	}
}

// An expression over the ad, and a unit.
func TestEstimateExpressions(t *testing.T) {
	const ad = "MaxWallTimeMins = 100; Hours = 1.5; Long = true; Text = \"100\"; Never = undefined"
	for _, c := range []struct {
		text string
		want int64
	}{
		{"MaxWallTimeMins", 100},
		{"maxwalltimemins", 100},
		{"MaxWallTimeMins:s", 100},
		{"MaxWallTimeMins:min", 6000},
		{"MaxWallTimeMins : min", 6000},
		{"Hours:h", 5400},
		{"Hours:d", 129600},
		{"MaxWallTimeMins*60", 6000},
		{"(MaxWallTimeMins + 20):min", 7200},
		{"MaxWallTimeMins:min,Hours:h", 6000},
		{"Never, Text, Hours:h", 5400},
		{"ifThenElse(Long, Hours*3600, MaxWallTimeMins)", 5400},
		{"Long ? Hours : MaxWallTimeMins", 2},
		{"(Long ? Hours : MaxWallTimeMins):h", 5400},
		{"Never ?: MaxWallTimeMins", 100},
		{"int(Text)", 100},
		{"MY.MaxWallTimeMins", 100},
	} {
		h := read(t, history.Options{Estimates: []string{c.text}}, done(1, ad))
		require.Equal(t, c.want, h.Jobs[0].Estimate, c.text)
	}
	for text, want := range map[string]string{
		"MaxWallTimeMins:minutes": `"minutes" is no unit: s, min, h and d are`,
		"":                        "give the name of an attribute or an expression",
		"A,,B":                    "give the name of an attribute or an expression",
		"MaxWallTimeMins *":       "give the name of an attribute or an expression",
		"3600":                    "it names no attribute of jobs",
	} {
		_, err := history.ParseEstimates([]string{text})
		require.ErrorContains(t, err, want, text)
	}
}

// What was asked for is there, or the reader says what is not: the run time never stands in unsaid.
func TestEstimatesOfNoJob(t *testing.T) {
	text := done(1, "MaxWallTimeMins = 100") + done(2, "Text = \"an hour\"")
	for _, c := range []struct{ attr, want string }{
		{"MaxWalTimeMins", "no job of folder/test.ads has MaxWalTimeMins, did you mean MaxWallTimeMins?"},
		{"MaxWalltimeMin*60", "has MaxWalltimeMin, did you mean MaxWallTimeMins?"},
		{"MaxWallTimeMins,MaxRuntimeOfTheSite", "has MaxRuntimeOfTheSite"},
		{"Text", "estimate attribute Text: that is a positive number for none of the 2 jobs of folder/test.ads"},
		{"TARGET.Cpus * MaxWallTimeMins", "has Cpus"},
	} {
		_, err := history.Read(strings.NewReader(strings.ReplaceAll(text, ";", "\n")), "folder/test.ads",
			history.Options{Estimates: []string{c.attr}})
		require.ErrorContains(t, err, c.want, c.attr)
	}
	require.Zero(t, read(t, history.Options{}, text).Jobs[0].Estimate, "nobody chose the usual attributes")
}

func TestJobsAreToldApart(t *testing.T) {
	const a, b = `GlobalJobId = "a.example.org#1.0#1000"`, `GlobalJobId = "b.example.org#1.0#1000"`
	h := read(t, history.Options{}, done(1, b)+done(1, a)+done(2, a)+done(1,
		a+"; EnteredCurrentStatus = 5; RemoteWallClockTime = 7")+done(1, a+"; EnteredCurrentStatus = 3"))
	require.Equal(t, 2, h.Cleaning.Repeated)
	var names []string
	for _, j := range h.Jobs {
		names = append(names, fmt.Sprint(j.Name, " ", j.Run))
	}
	require.Equal(t, []string{"1.0@a.example.org 7", "2.0@a.example.org 60", "1.0@b.example.org 60"}, names)
	require.Equal(t, "1.0", read(t, history.Options{}, done(1, a)).Jobs[0].Name)
	later := strings.Replace(done(1, a), "QDate = 1000", "QDate = 2000", 1)
	require.Len(t, read(t, history.Options{}, done(1, a)+later).Jobs, 2, "the schedd began to count anew")
}

func TestAdsAreReducedAndShared(t *testing.T) {
	o := history.Options{WithAds: true, Asked: []string{"Owner", "JobPrio"}, Schema: negotiator.DefaultSchema()}
	const common = `Owner = "eve"; RequestMemory = ImageSize / 1024; Requirements = TARGET.Memory >= RequestMemory ` +
		`&& TARGET.Site == Where; Where = City; City = "x"; Rank = TARGET.Speed; Iwd = "/home/eve"`
	h := read(t, o, done(1, common+`; ImageSize = 2048; LastRemoteHost = "a"`)+done(2,
		common+`; ImageSize = 2050; LastRemoteHost = "b"`)+done(3, common+"; ImageSize = 4096"))
	require.Same(t, h.Jobs[0].Ad, h.Jobs[1].Ad)
	require.NotSame(t, h.Jobs[0].Ad, h.Jobs[2].Ad)
	want, err := classad.Parse(`[Owner = "eve"; RequestCpus = 1; RequestMemory = 2; RequestDisk = 0; RequestGpus = 0;
		Requirements = TARGET.Memory >= RequestMemory && TARGET.Site == Where; Where = City; City = "x";
		Rank = TARGET.Speed]`)
	require.NoError(t, err)
	require.Equal(t, strings.ToLower(want.String()), strings.ToLower(h.Jobs[0].Ad.String()))
	require.Nil(t, read(t, history.Options{}, done(1, common)).Jobs[0].Ad)
}

func TestForms(t *testing.T) {
	text, err := os.ReadFile("testdata/history.long")
	require.NoError(t, err)
	want := read(t, history.Options{}, strings.ReplaceAll(string(text), ";", " "))
	forms := map[string]string{"brackets": "", "json": "", "xml": ""}
	for ad, err := range classad.ReadAds(bytes.NewReader(text), "history.long") {
		require.NoError(t, err)
		for name, style := range map[string]classad.Style{
			"brackets": classad.Brackets, "json": classad.JSON,
			"xml": classad.XML,
		} {
			forms[name] += ad.Format(style) + "\n"
		}
	}
	forms["an array"] = "[\n" + strings.ReplaceAll(strings.TrimSpace(forms["json"]), "}\n{", "},\n{") + "\n]\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	forms["gzip"] = packed.String()
	for name, form := range forms {
		got, err := history.Read(strings.NewReader(form), "folder/test.ads",
			history.Options{Schema: negotiator.DefaultSchema()})
		require.NoError(t, err, name)
		for i := range got.Jobs {
			require.Positive(t, got.Jobs[i].Line, name)
			got.Jobs[i].Line = want.Jobs[i].Line // each form has its own
		}
		require.Error(t, got.Unreadable, name)
		got.Unreadable = want.Unreadable
		require.Equal(t, want, got, name)
	}
}

func TestWhatIsNoHistory(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "read the history: test.ads: there is no job in it",
		"ClusterId = 1\nProcId = = 2\n": "read the history: test.ads:2:",
		"{\"ClusterId\": ":              "read the history: test.ads:1:",
		"Name = \"a\"\nCpus = 2\n":      "test.ads: looks like ads of slots, which are no jobs; print the jobs' ads",
		"[MyType = \"Submitter\"]":      "test.ads: looks like ads of type Submitter, which are no jobs; print the jobs' ads",
	} {
		_, err := history.Read(strings.NewReader(text), "test.ads", history.Options{Schema: negotiator.DefaultSchema()})
		require.ErrorContains(t, err, want)
	}
}

func TestTrace(t *testing.T) {
	at := func(submit, start, run, cpus int) string {
		return fmt.Sprintf("ClusterId = %d; ProcId = 0; QDate = %d; JobStartDate = %d; RemoteWallClockTime = %d; "+
			"RequestCpus = %d; RequestMemory = 100; EstimatedRunTime = 50;;", submit, submit, start, run, cpus)
	}
	text := at(1000, 1000, 100, 4) + at(1001, 1050, 100, 8) + at(1002, 1100, 10, 6) + at(1003, 2000, 5, 1)
	h := read(t, history.Options{}, text)
	require.EqualValues(t, 14, h.Peak, "what ends at 1100 makes room for what starts then")

	trace, err := h.Trace(workload.Options{})
	require.NoError(t, err)
	require.Equal(t, "test", trace.Name)
	require.Equal(t, workload.Machine{Processors: 14}, trace.Machine)
	require.Equal(t, 3, len(trace.Jobs)-1)
	require.Equal(t, workload.Job{
		ID: 2, Submit: 1, Run: 100, Estimate: 100, Procs: 8, Wait: 49, Waited: 49, HasWaited: true, Origin: workload.Raised,
		Beside: 50,
	}, trace.Jobs[1],
		"the estimate is raised, memory is no resource")
	require.Equal(t, 2, trace.Cleaning.EstimateRaised)
	require.Equal(t, 4, trace.Cleaning.JobsLeft)

	trace, err = h.Trace(workload.Options{CPUs: 6, Memory: 1000, Overrun: workload.OverrunKill, Load: 0.5, Max: 2})
	require.NoError(t, err)
	require.Equal(t, workload.Machine{Processors: 6, Memory: 1000}, trace.Machine)
	require.Equal(t, 1, trace.Cleaning.TooWide)
	require.Equal(t, 1, trace.Cleaning.BeyondMax)
	require.Equal(t, workload.Job{ID: 3, Submit: 4, Run: 10, Estimate: 50, Procs: 6, Memory: 100}, trace.Jobs[1],
		"under another load nobody waited so long")

	_, err = read(t, history.Options{}, done(1, "")).Trace(workload.Options{})
	require.ErrorContains(t, err, "folder/test.ads: no ad says when its job started, so nothing is known of the "+
		"machine; give its processors with --cpus, or slots with --pool")
	trace, err = read(t, history.Options{Estimates: []string{"MaxRuntime"}}, done(1, "MaxRuntime = 99")).
		Trace(workload.Options{CPUs: 2})
	require.NoError(t, err)
	require.EqualValues(t, 99, trace.Jobs[0].Estimate)
}

// A job may take 500 bytes, however large its ad is.
func TestMemory(t *testing.T) {
	const jobs = 20_000
	var text strings.Builder
	for i := range jobs {
		fmt.Fprintf(&text, "ClusterId = %d\nProcId = 0\nQDate = %d\nRemoteWallClockTime = %d\nOwner = \"user%d\"\n"+
			"Cmd = \"/bin/true\"\nRequestCpus = %d\n"+
			"ImageSize = %d\nRequestMemory = (ImageSize + 1023) / 1024\nRequirements = TARGET.Memory "+
			">= RequestMemory && TARGET.Cpus >= RequestCpus\nEnvironment = \"%s%d\"\n\n",
			i, i, 1+i%1000, i%50, 1+i%8, 1024*(i%4), strings.Repeat("x", 2000), i)
	}
	o := history.Options{Schema: negotiator.DefaultSchema(), WithAds: true, Asked: []string{"owner"}}
	var before, after runtime.MemStats
	in := text.String()
	runtime.GC()
	runtime.ReadMemStats(&before)
	h, err := history.Read(strings.NewReader(in), "big", o)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, jobs, len(h.Jobs)) //nolint:testifylint // printing them all helps nobody
	require.Less(t, (after.HeapAlloc-before.HeapAlloc)/jobs, uint64(390),
		"bytes a job; what is made of it needs some, too")
	runtime.KeepAlive(in)
}

func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/history.long")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add(`[{"ClusterId": 1, "ProcId": 0, "QDate": 9e9, "RemoteWallClockTime": 1e15, "RequestCpus": ` +
		`"\/Expr(1 + 1)\/"}]`)
	f.Add("ClusterId = 1\nProcId = 1\nQDate = 1\nRemoteWallClockTime = 3\nRequestMemory = RequestMemory\n" +
		"Requirements = Requirements\n")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := history.Read(strings.NewReader(text), "fuzz",
			history.Options{Schema: negotiator.DefaultSchema(), WithAds: true, Clean: workload.CleanNone})
		if err != nil {
			return
		}
		n := h.Cleaning
		require.Equal(t, n.JobsRead, len(h.Jobs)+n.Cancelled+n.NegativeRun+n.NoProcessors+n.Unreadable+n.NoAmount+n.NotOnSlots+
			n.Removed+n.Unfinished+n.Repeated)
		trace, err := h.Trace(workload.Options{CPUs: 1e12})
		require.NoError(t, err)
		for i, j := range trace.Jobs {
			require.True(t, j.Submit >= 0 && j.Run >= 0 && j.Estimate >= max(j.Run, 1) && j.Procs >= 1)
			require.NotNil(t, h.Jobs[i].Ad)
		}
	})
}

// TestRepeatedAdsAreNoLargerMachine reads a history twice over, as two dumps that overlap make it.
func TestRepeatedAdsAreNoLargerMachine(t *testing.T) {
	const once = "RequestCpus = 4; JobStartDate = 1100; EnteredCurrentStatus = 1160"
	h := read(t, history.Options{}, strings.Repeat(done(1, once)+done(2, once), 3))
	require.Len(t, h.Jobs, 2)
	require.Equal(t, int64(8), h.Peak)
}
