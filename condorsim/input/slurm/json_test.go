package slurm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/slurm"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// objects puts jobs into what sacct --json prints.
func objects(jobs ...string) string {
	return "{\n\"meta\": {\"plugin\": {\"type\": \"openapi/dbv0.0.40\"}},\n\"jobs\": [\n" + strings.Join(jobs, ",\n") +
		"\n], \"warnings\": []}\n"
}

const simple = `"time": {"submission": 100, "eligible": 100, "start": 110, "end": 170, "elapsed": 60, "limit": 2}`

// What each field of a job becomes.
func TestObject(t *testing.T) {
	whole := `{"job_id": 13, "array": {"job_id": 12, "task_id": {"set": true, "infinite": false, "number": 1}, "task": ""},
"cluster": "c", "user": "ann", "account": "physics", "partition": "gpu", "qos": "high", "name": "train",
"state": {"current": ["COMPLETED", "COMPLETING"], "reason": "None"}, "allocation_nodes": 2,
"time": {"submission": 1000, "eligible": 1300, "start": 1360, "end": 1450, "elapsed": 90,
  "limit": {"set": true, "infinite": false, "number": 60}},
"required": {"CPUs": 4, "memory_per_cpu": {"set": true, "number": 100}, "memory_per_node": {"set": false, "number": 0}},
"tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 8}, {"type": "mem", "name": "", "count": 16384},
  {"type": "gres", "name": "gpu", "count": 2}, {"type": "gres", "name": "gpu:a100", "count": 2}], "requested": []},
"constraints": "ib", "licenses": "", "reservation": {"id": 0, "name": ""}, "steps": [{"a": 1}, {"b": [2]}]}`
	want := workload.Job{
		ID: 13, Run: 90, Estimate: 3600, Procs: 8, Memory: 16 << 10, GPUs: 2, Wait: 60, Waited: 60, HasWaited: true,
		User: "ann", Group: "physics", Executable: "train", Queue: "gpu/high", Held: true,
	}
	require.Equal(t, want, one(t, objects(whole), workload.Options{}))
	trace := read(t, objects(whole), workload.Options{})
	require.Equal(t, 1, trace.Cleaning.HeldBefore)
	require.Equal(t, 2, trace.Cleaning.Steps)
	require.EqualValues(t, 1300, trace.Header.Start())
	require.Equal(t, []string{"1 jobs ask for constraints, which is not heeded: they run where there is room"}, trace.Warnings)
	want.Procs, want.Memory, want.GPUs = 4, 400, 2
	require.Equal(t, want, one(t, objects(whole), workload.Options{ProcsField: workload.ProcsRequested}))

	type job = workload.Job
	for rest, change := range map[string]func(j *job){
		`"required": {"CPUs": 3}`: nil,
		`"required": {"CPUs": 3, "memory": 500}, "allocation_nodes": 2`:                           func(j *job) { j.Memory = 1000 },
		`"required": {"CPUs": 3, "memory": 9223372036854776308}`:                                  func(j *job) { j.Memory = 1500 },
		`"required": {"CPUs": 3, "memory_per_node": {"set": true, "number": 7}}`:                  func(j *job) { j.Memory = 7 },
		`"tres": {"requested": [{"type": "cpu", "count": 5}]}`:                                    func(j *job) { j.Procs = 5 },
		`"required": {"CPUs": {"set": true, "infinite": false, "number": 3}}`:                     nil,
		`"required": {"CPUs": 3}, "state": {"current": "FAILED"}`:                                 nil,
		`"required": {"CPUs": 3}, "state": {"current": []}`:                                       nil,
		`"required": {"CPUs": 3}, "array": {"job_id": 0, "task_id": null}`:                        nil,
		`"required": {"CPUs": 3}, "het": {"job_id": 7, "job_offset": {"set": true, "number": 0}}`: nil,
		`"required": {"CPUs": "3"}`:                                                               nil,
		`"required": {"CPUs": 3.0}`:                                                               nil,
		`"required": {"CPUs": 3}, "cluster": null, "steps": null`:                                 nil,
	} {
		expected := job{ID: 7, Run: 60, Estimate: 120, Procs: 3, Wait: 10, Waited: 10, HasWaited: true}
		if change != nil {
			change(&expected)
		}
		require.Equal(t, expected, one(t, objects(`{"job_id": 7, `+simple+`, `+rest+`}`), workload.Options{}), rest)
	}
	// Early versions print numbers where there is no text, and numbers of 64 bits where there is no value.
	odd := `"required": {"CPUs": 3, "memory": 18446744073709551614}, "reservation": {"id": 0, "name": 0}, "licenses": null, ` +
		`"constraints": [], "tres": {"allocated": [{"type": "mem", "count": 18446744073709551615}]}`
	trace = read(t, objects(`{"job_id": 7, `+simple+`, `+odd+`}`), workload.Options{})
	require.Empty(t, trace.Warnings)
	require.Zero(t, trace.Jobs[0].Memory)
	none := strings.Replace(simple, `"limit": 2`, `"limit": {"set": false, "infinite": true, "number": 0}`, 1)
	trace = read(t, objects(`{"job_id": 7, `+none+`, "required": {"CPUs": 3}}`), workload.Options{})
	require.Equal(t, 1, trace.Cleaning.EstimateUnknown)
}

// Jobs of several objects.
func TestObjectsOfOneJob(t *testing.T) {
	part := func(raw, offset string) string {
		return `{"job_id": ` + raw + `, "het": {"job_id": 7, "job_offset": {"set": true, "number": ` + offset + `}}, ` + simple +
			`, "state": {"current": ["COMPLETED"]}, "required": {"CPUs": 3}}`
	}
	require.Equal(t, []string{"7: 0 +10 60/120 x6"}, described(read(t, objects(part("7", "0"), part("8", "1")), workload.Options{})))
	waiting := `{"job_id": 9, "array": {"job_id": 9, "task_id": {"set": false, "number": 0}, "task": "4-9%2"}, ` +
		`"time": {"submission": 100, "eligible": 0, "start": 0, "end": 0, "elapsed": 0, "limit": 5}, ` +
		`"state": {"current": ["PENDING"]}, "required": {"CPUs": 3}}`
	trace := read(t, objects(part("7", "0"), waiting), workload.Options{})
	require.Equal(t, 6, trace.Cleaning.Unfinished)
	require.Equal(t, 7, trace.Cleaning.JobsRead)
}

func TestFaultyObjects(t *testing.T) {
	good := `{"job_id": 7, ` + simple + `, "required": {"CPUs": 3}}`
	for text, want := range map[string]string{
		objects():                         "jobs.txt: there is no job in it; print jobs: sacct",
		`{"meta": {}}`:                    `jobs.txt: has no "jobs"; print jobs: sacct -a -S 2024-01-01 --json`,
		`{"jobs": 5}`:                     "jobs.txt:1: the jobs are no list; print jobs",
		objects(good, `{"job_id": "x"}`):  `jobs.txt:5: the job that begins here: "x" is no number`,
		objects(good, `{"user": "a"}`):    "jobs.txt:5: the job that begins here has no job_id",
		objects(good, `{"job_id": 8}`):    "jobs.txt:5: the job that begins here has no time.submission",
		objects(good, "{\n\"user\":\n5}"): "jobs.txt:7: user of a job is a number; print jobs",
		objects(good, `{"job_id": 8, "time": {"submission": 5}}`):                     "jobs.txt:5: the job that begins here has no time.elapsed",
		objects(good, `{"job_id": 8, "job_state": ["RUNNING"]}`):                      "jobs.txt:5: this is a job of squeue --json",
		objects(good, good+",\n{,}"):                                                  "jobs.txt:6: is no JSON: invalid character ','",
		strings.TrimSuffix(objects(good, good), "}\n], \"warnings\": []}\n"):          "jobs.txt:5: ends in the middle of an object; the file may be truncated",
		strings.TrimSuffix(objects(good, good), ", \"warnings\": []}\n"):              "ends in the middle of an object",
		objects(`{"job_id": 99999999999, ` + simple + `}`):                            "has no job_id",
		objects(`{"job_id": 8, "state": {"current": {"x": 1}}, ` + simple + `}`):      "of a job is a object",
		objects(`{"job_id": 8, "allocation_nodes": {"number": [1]}, ` + simple + `}`): "jobs.txt:4: ",
	} {
		_, err := try(text, workload.Options{})
		require.ErrorContains(t, err, want, text)
	}
	_, err := try(objects(good, `{"user": 5}`), workload.Options{})
	_, isFault := errors.AsType[*workload.Error](err)
	require.True(t, isFault)
}

// What is an accounting, and what only looks like one.
func TestIsJobs(t *testing.T) {
	for text, want := range map[string]bool{
		"JobID|User\n": true, "# x\n\nUser|JobIDRaw|\n": true, "JobIDRaw|x\n": true, "JobID|": false, "JobID\n": false,
		"JobID;State;Elapsed\n": true, "JobID;a;b\n": false, "jobid,user,state": true, "id|submit|run\n": false,
		"JobID  User  State\n": false, "1|2|3\n": false, "": false, "\uFEFFJobID|User\n": true,
		objects(): true, `{"jobs": []}`: true, `{"jobs": [{"job_id": 1, "job_state": []`: false, "{}": false,
		`{"jobs": [{"account": "a", "comment": {"administrator": ""`: true,
		`{"jobs": [{"id": 1, "submit": 0, "comment": "x"`:            false,
		`{"nodes": [{"architecture": "x86_64"`:                       false, `{"nb_res": 4, "jobs": [{"id": "1"`: false,
		`{"meta": {"command": ["squeue", "--json"], "plugin": {"type": "openapi/slurmctld"}}, "jobs": [`: false,
		`{"meta": {"command": ["sacct", "--json"]}, "jobs": [`:                                           true,
	} {
		require.Equal(t, want, slurm.IsJobs([]byte(text)), text)
	}
}
