package slurm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// printer prints jobs as sacct does.
type printer struct {
	zone  *time.Location
	start int64 // Unix time of second 0
}

func (p printer) date(at int64) string {
	if at < 0 {
		return "Unknown"
	}
	return time.Unix(p.start+at, 0).In(p.zone).Format("2006-01-02T15:04:05")
}

// span prints D-HH:MM:SS.
func span(seconds int64) string {
	text := fmt.Sprintf("%02d:%02d:%02d", seconds/3600%24, seconds/60%60, seconds%60)
	if days := seconds / 86400; days > 0 {
		text = fmt.Sprintf("%d-%s", days, text)
	}
	return text
}

// started returns when a job started; -1: unknown.
func started(j *workload.Job) int64 {
	if !j.HasWaited {
		return -1
	}
	return j.Submit + j.Waited
}

// limit returns the time limit in words; estimates are whole minutes, or unknown.
func limit(j *workload.Job) string {
	switch j.Origin {
	case workload.Assumed:
		return "UNLIMITED"
	case workload.Raised:
		return span(int64(j.Beside))
	default:
		return span(j.Estimate)
	}
}

func tres(j *workload.Job) string {
	text := fmt.Sprintf("billing=%d,cpu=%d,mem=%dM,node=1", j.Procs, j.Procs, j.Memory)
	if j.GPUs > 0 {
		text += fmt.Sprintf(",gres/gpu:a100=%d,gres/gpu=%d", j.GPUs, j.GPUs)
	}
	return text
}

// table prints jobs, each with a step, as sacct -P does.
func (p printer) table(jobs []workload.Job) string {
	var b strings.Builder
	b.WriteString("JobID|JobIDRaw|User|Account|Partition|JobName|State|Submit|Eligible|Start|End|Elapsed|Timelimit|AllocCPUS|" +
		"ReqCPUS|ReqMem|AllocTRES|ReqTRES\n")
	for i := range jobs {
		j := &jobs[i]
		begin, end := started(j), int64(-1)
		if begin >= 0 {
			end = begin + j.Run
		}
		fmt.Fprintf(&b, "%d|%d|%s|%s|%s|%s|COMPLETED|%s|%s|%s|%s|%s|%s|%d|%d|%dM|%s|\n", j.ID, j.ID, j.User, j.Group, j.Queue,
			j.Executable, p.date(j.Submit), p.date(j.Submit), p.date(begin), p.date(end), span(j.Run), limit(j), j.Procs, j.Procs,
			j.Memory, tres(j))
		fmt.Fprintf(&b, "%d.batch|%d.batch||||batch|COMPLETED|%s|%s|%s|%s|%s||%d|%d||cpu=%d|\n", j.ID, j.ID, p.date(begin),
			p.date(begin), p.date(begin), p.date(end), span(j.Run), j.Procs, j.Procs, j.Procs)
	}
	return b.String()
}

// unix returns a Unix time; 0: unknown.
func (p printer) unix(at int64) int64 {
	if at < 0 {
		return 0
	}
	return p.start + at
}

// object prints jobs as sacct --json does, in the form of a version of the data parser. Limits are whole minutes.
func (p printer) object(jobs []workload.Job, version int) string {
	type m = map[string]any
	numeral := func(n int64) any {
		switch {
		case version < 39 && n < 0:
			return 0xffffffff
		case version < 39:
			return n
		default:
			return m{"set": n >= 0, "infinite": false, "number": max(n, 0)}
		}
	}
	var list []any
	for i := range jobs {
		j := &jobs[i]
		begin, end := started(j), int64(-1)
		if begin >= 0 {
			end = begin + j.Run
		}
		minutes := j.Estimate / 60
		switch j.Origin {
		case workload.Assumed:
			minutes = -1
		case workload.Raised:
			minutes = int64(j.Beside) / 60
		case workload.Stated:
		}
		has := []any{
			m{"type": "cpu", "name": "", "id": 1, "count": j.Procs},
			m{"type": "mem", "name": "", "id": 2, "count": j.Memory},
			m{"type": "node", "name": "", "id": 4, "count": 1},
		}
		if j.GPUs > 0 {
			has = append(has, m{"type": "gres", "name": "gpu", "id": 1001, "count": j.GPUs},
				m{"type": "gres", "name": "gpu:a100", "id": 1002, "count": j.GPUs})
		}
		var state any = []string{"COMPLETED"}
		if version < 40 {
			state = "COMPLETED"
		}
		list = append(list, m{
			"account": j.Group, "comment": m{"administrator": "", "job": "", "system": ""}, "allocation_nodes": 1,
			"array": m{"job_id": 0, "limits": m{"max": m{"running": m{"tasks": 0}}}, "task_id": numeral(-1), "task": ""},
			"het":   m{"job_id": 0, "job_offset": numeral(-1)}, "job_id": j.ID, "name": j.Executable, "partition": j.Queue,
			"qos": "normal", "user": j.User, "state": m{"current": state, "reason": "None"}, "flags": []string{"STARTED_ON_BACKFILL"},
			"time": m{
				"elapsed": j.Run, "eligible": p.unix(j.Submit), "submission": p.unix(j.Submit), "start": p.unix(begin),
				"end": p.unix(end), "limit": numeral(minutes), "suspended": 0, "total": m{"seconds": 1, "microseconds": 2},
			},
			"required": m{"CPUs": j.Procs, "memory_per_node": numeral(j.Memory), "memory_per_cpu": numeral(-1)},
			"tres":     m{"allocated": has, "requested": has[:2]},
			"steps":    []any{m{"step": m{"id": fmt.Sprintf("%d.batch", j.ID), "name": "batch"}, "state": "COMPLETED"}},
		})
	}
	meta := m{
		"plugin":  m{"type": fmt.Sprintf("openapi/dbv0.0.%d", version), "data_parser": fmt.Sprintf("data_parser/v0.0.%d", version)},
		"command": []string{"sacct", "--json"}, "Slurm": m{"release": "23.02.1"},
	}
	text, err := json.MarshalIndent(m{"meta": meta, "jobs": list, "warnings": []any{}, "errors": []any{}}, "", "  ")
	if err != nil {
		panic(err)
	}
	return string(text)
}
