package batsim_test

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/input/batsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

func read(t *testing.T, text string, o workload.Options) (*workload.Trace, error) {
	t.Helper()
	return batsim.Read(strings.NewReader(text), "a.json", o)
}

// The sample has what workloads of Batsim's versions have: names of both kinds, decimals, extra fields, a job
// without walltime, profiles of delay type under both names, and one of another type that no job has.
func TestRead(t *testing.T) {
	text, err := os.ReadFile("testdata/sample.json")
	require.NoError(t, err)
	trace, err := read(t, string(text), workload.Options{})
	require.NoError(t, err)
	require.Equal(t, workload.Machine{Processors: 8}, trace.Machine)
	require.Equal(t, []workload.Job{
		{ID: 0, Submit: 0, Run: 21, Estimate: 100, Procs: 4},
		{ID: 2, Submit: 4, Run: 60, Estimate: 60, Procs: 8, Origin: workload.Assumed},
		{ID: 1, Submit: 10, Run: 60, Estimate: 60, Procs: 1, Origin: workload.Raised, Beside: 31},
	}, trace.Jobs)
	require.Equal(t, 4, trace.Cleaning.JobsRead)
	require.Equal(t, 1, trace.Cleaning.NoProcessors)
	require.Equal(t, 1, trace.Cleaning.OutOfOrder)
	require.Empty(t, trace.Warnings)
	require.Equal(t, "a", trace.Name)
}

func TestNamesThatAreNoNumbers(t *testing.T) {
	const text = `{"nb_res": 2, "jobs": [{"id": "b", "subtime": 0, "res": 1, "profile": "p"},
{"id": "1", "subtime": 0, "res": 1, "profile": "p", "extra_data": {"after": 1}}], "profiles": {"p": {"type": "delay", "delay": 1}}}`
	trace, err := read(t, text, workload.Options{})
	require.NoError(t, err)
	require.Equal(t, int64(1), trace.Jobs[0].ID)
	require.Equal(t, int64(2), trace.Jobs[1].ID)
	require.Nil(t, trace.Jobs[1].After, "another job has the number now")
	require.Equal(t, []string{"the names of jobs are no numbers: the jobs are numbered from 1, as they are in the file"},
		trace.Warnings)
}

// Other people's extra_data means nothing here.
func TestExtraDataOfOthers(t *testing.T) {
	for _, data := range []string{`"gold"`, `"[1]"`, `{"licences": 3}`, `"{\"user\": 5}"`, `7`, `null`} {
		trace, err := read(t, `{"nb_res": 2, "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "p", "extra_data": `+data+
			`}], "profiles": {"p": {"type": "delay", "delay": 1}}}`, workload.Options{})
		require.NoError(t, err, data)
		require.Empty(t, trace.Jobs[0].User, data)
	}
}

func TestReadErrors(t *testing.T) {
	const hint = "; condorsim workload formats describes what is read of Batsim"
	job := func(job, profile string) string {
		return `{"nb_res": 2, "jobs": [` + job + `], "profiles": {"p": ` + profile + `}}`
	}
	const good, delay = `{"id": 7, "subtime": 1, "res": 1, "profile": "p"}`, `{"type": "delay", "delay": 5}`
	for text, want := range map[string]string{
		job(good, `{"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}`): `a.json: jobs[0] (id 7): its profile "p" is of ` +
			`the type "parallel_homogeneous": only the type delay says how long a job runs` + hint,
		job(good, `{"type": "delay"}`):                                          `a.json: jobs[0] (id 7): its profile "p" has no delay` + hint,
		job(strings.Replace(good, `"p"`, `"q"`, 1), delay):                      `a.json: jobs[0] (id 7): profile: "q" is not among the profiles` + hint,
		job(strings.Replace(good, `"subtime": 1, `, ``, 1), delay):              "a.json: jobs[0] (id 7): subtime is missing" + hint,
		job(strings.Replace(good, `"res": 1, `, ``, 1), delay):                  "a.json: jobs[0] (id 7): res is missing" + hint,
		job(strings.Replace(good, `"res": 1`, `"res": 1.5`, 1), delay):          "a.json: jobs[0] (id 7): res: 1.5: must be a whole number" + hint,
		job(strings.Replace(good, `"subtime": 1`, `"subtime": -1`, 1), delay):   "a.json: jobs[0] (id 7): subtime: -1: must be from 0 to 1e12" + hint,
		job(strings.Replace(good, `"subtime": 1`, `"subtime": 1e99`, 1), delay): "a.json: jobs[0] (id 7): subtime: 1e+99: must be from 0 to 1e12" + hint,
		job(strings.Replace(good, `"res"`, `"extra_data": "{\"gpus\": -1}", "res"`, 1), delay): "a.json: jobs[0] (id 7): " +
			"extra_data: gpus: -1: must be from 0 to 1e12" + hint,
		job(good+", "+good, delay): "a.json: jobs[1] (id 7): a job above has this id; give each job a name of its own",
		job("", delay): "a.json: has no job line; give a trace, or ads of jobs that ended: condorsim workload formats " +
			"describes what is read",
		strings.Replace(job(good, delay), `"nb_res": 2, `, "", 1): "a.json: nb_res, the number of machines, is missing, or " +
			"not from 1 to 1e12; give the machine's processors with --cpus",
		"{\"nb_res\": 2,\n \"jobs\": [{\"id\": 1, \"subtime\": \"x\"}]}": "a.json:2:",
		"{\"nb_res\": 2,\n \"jobs\": 7}":                                 "a.json:2:",
		"{\"nb_res\": 2,\n \"jobs\": [{":                                 "a.json:2:",
		job(good, delay) + "}":                                           "a.json:1:",
	} {
		_, err := read(t, text, workload.Options{})
		require.ErrorContains(t, err, want, text)
		var fault *workload.Error
		require.ErrorAs(t, err, &fault, text)
	}
}

// anyTrace draws a trace such as readers return, with everything that a job may say.
func anyTrace(t *rapid.T) *workload.Trace {
	number := func(name string, low, high int64) int64 { return rapid.Int64Range(low, high).Draw(t, name) }
	label := rapid.SampledFrom([]string{"", "7", "alice", "a \"b\"\n"})
	m := workload.Machine{
		Processors: number("processors", 1, 1000), Memory: number("memory", 0, 1e6), GPUs: number("gpus", 0, 9),
	}
	trace := &workload.Trace{Name: "t", Machine: m, Header: workload.Header{}}
	if rapid.Bool().Draw(t, "dated") {
		trace.Header["UnixStartTime"] = "800000000"
	}
	submit := int64(0)
	for id := range number("jobs", 1, 12) {
		submit += number("gap", 0, 50)
		j := workload.Job{
			ID: id * 3, Submit: submit, Run: number("run", 0, 90), Procs: number("procs", 1, m.Processors),
			Memory: number("memory of the job", 0, m.Memory), GPUs: number("gpus of the job", 0, m.GPUs),
			User: label.Draw(t, "user"), Group: label.Draw(t, "group"), Executable: label.Draw(t, "executable"),
			Queue: label.Draw(t, "queue"), Release: number("release", 0, 3) * 100, WrongStart: rapid.Bool().Draw(t, "wrong"),
		}
		switch j.Estimate = max(j.Run, 1); number("origin", 0, 2) {
		case 0:
			j.Estimate += number("more", 0, 100)
		case 1:
			j.Origin = workload.Assumed
		default:
			if j.Run > 1 {
				j.Origin, j.Beside = workload.Raised, uint32(number("stated", 1, j.Run-1))
			}
		}
		if j.HasWaited = rapid.Bool().Draw(t, "a wait is recorded"); j.HasWaited {
			j.Waited = number("wait", 0, 1e5)
			j.Wait = j.Waited
		}
		if after := number("after", -3, id-1); after > 0 {
			j.After = &workload.Preceding{ID: after * 3, Think: number("think", -1, 60)}
		}
		trace.Jobs = append(trace.Jobs, j)
	}
	return trace
}

// A trace that is written is read as the same jobs, machine and clock.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace := anyTrace(t)
		var text bytes.Buffer
		require.NoError(t, batsim.Write(trace, &text))
		again, err := batsim.Read(bytes.NewReader(text.Bytes()), "t.batsim.json", workload.Options{Clean: workload.CleanNone})
		require.NoError(t, err, text.String())
		for i := range again.Jobs {
			if after := again.Jobs[i].After; after != nil {
				after.Later = false // who reads it finds that out
			}
		}
		require.Equal(t, trace.Jobs, again.Jobs, text.String())
		require.Equal(t, trace.Machine, again.Machine)
		require.Equal(t, trace.Header, again.Header)
		require.Equal(t, trace.Name, again.Name)
		var twice bytes.Buffer
		require.NoError(t, batsim.Write(again, &twice))
		require.Equal(t, text.String(), twice.String())
	})
}

func TestWrite(t *testing.T) {
	trace := &workload.Trace{
		Name: "t", Machine: workload.Machine{Processors: 4, Memory: 100, GPUs: 2}, Filled: true,
		Header: workload.Header{"UnixStartTime": "800000000", "MaxProcs": "4"}, Scavengers: map[int64]bool{2: true},
		Jobs: []workload.Job{
			{ID: 1, Run: 60, Estimate: 100, Procs: 4, User: "alice", Memory: 50, GPUs: 2, HasWaited: true},
			{ID: 2, Submit: 5, Run: 0, Estimate: 1, Procs: 1, Origin: workload.Assumed},
			{
				ID: 3, Submit: 5, Run: 60, Estimate: 60, Procs: 1, Origin: workload.Raised, Beside: 30,
				After: &workload.Preceding{ID: 1, Think: -1},
			},
		},
	}
	var text strings.Builder
	require.NoError(t, batsim.Write(trace, &text))
	//nolint:testifylint // its lines count, too
	require.Equal(t, `{
 "nb_res": 4,
 "condorsim": {"memory":100,"gpus":2,"filled":true,"header":{"UnixStartTime":"800000000"}},
 "jobs": [
  {"id": "1", "subtime": 0, "walltime": 100, "res": 4, "profile": "delay60", "extra_data": `+
		`"{\"user\":\"alice\",\"memory\":50,\"gpus\":2,\"wait\":0}"},
  {"id": "2", "subtime": 5, "res": 1, "profile": "delay0", "extra_data": "{\"run\":0,\"scavenger\":true}"},
  {"id": "3", "subtime": 5, "walltime": 60, "res": 1, "profile": "delay60", "extra_data": `+
		`"{\"stated\":30,\"after\":1,\"think\":-1}"}
 ],
 "profiles": {
  "delay0": {"type": "delay", "delay": 0.001},
  "delay60": {"type": "delay", "delay": 60}
 }
}
`, text.String())
	again, err := batsim.Read(strings.NewReader(text.String()), "t.json", workload.Options{})
	require.NoError(t, err)
	require.Equal(t, trace.Scavengers, again.Scavengers)
	require.True(t, again.Filled)

	ignoring, err := batsim.Read(strings.NewReader(text.String()), "t.json", workload.Options{
		Dependencies: workload.DependenciesIgnore, Overrun: workload.OverrunKill, CPUs: 3,
	})
	require.NoError(t, err)
	require.Equal(t, 1, ignoring.Cleaning.TooWide)
	require.Nil(t, ignoring.Jobs[1].After)
	require.Equal(t, int64(30), ignoring.Jobs[1].Run)

	trace.Jobs[0].ID = 3
	text.Reset()
	require.NoError(t, batsim.Write(trace, &text))
	require.Contains(t, text.String(), `{"id": "3", "subtime": 5, "walltime": 60`)
	trace.Jobs[0].Lies = true
	require.ErrorIs(t, batsim.Write(trace, &text), workload.ErrLies)
}

func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/sample.json")
	require.NoError(f, err)
	f.Add(string(text))
	f.Add(`{"nb_res": 1, "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "p", "extra_data": {"after": 2}}], ` +
		`"profiles": {"p": {"type": "delay", "delay": 0}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := batsim.Read(strings.NewReader(text), "x.json", workload.Options{})
		if err != nil {
			return
		}
		for i := range trace.Jobs {
			j := &trace.Jobs[i]
			require.True(t, j.Procs >= 1 && j.Procs <= trace.Machine.Processors)
			require.True(t, j.Run >= 0 && j.Estimate >= max(j.Run, 1) && j.Submit >= 0 && j.Submit <= math.MaxInt64/4)
		}
	})
}
