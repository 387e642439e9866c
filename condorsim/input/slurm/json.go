package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// object is a job as sacct --json prints it, by any version of the data parser from v0.0.38 on. Times are Unix
// times, the limit is in minutes, memory in MiB.
type object struct {
	JobID *numeral `json:"job_id"`
	Array struct {
		JobID  numeral `json:"job_id"`
		TaskID numeral `json:"task_id"`
		Task   any     `json:"task"` // the tasks that wait, as text
	} `json:"array"`
	Het struct {
		JobID  numeral `json:"job_id"`
		Offset numeral `json:"job_offset"`
	} `json:"het"`

	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Account   string `json:"account"`
	Partition string `json:"partition"`
	QOS       string `json:"qos"`
	Name      string `json:"name"`

	State struct {
		Current words `json:"current"`
	} `json:"state"`
	Time *struct {
		Submission numeral `json:"submission"`
		Eligible   numeral `json:"eligible"`
		Start      numeral `json:"start"`
		End        numeral `json:"end"`
		Elapsed    numeral `json:"elapsed"`
		Limit      numeral `json:"limit"`
	} `json:"time"`
	Nodes    numeral `json:"allocation_nodes"`
	Required struct {
		CPUs          numeral `json:"CPUs"`
		Memory        numeral `json:"memory"`
		MemoryPerCPU  numeral `json:"memory_per_cpu"`
		MemoryPerNode numeral `json:"memory_per_node"`
	} `json:"required"`
	TRES struct {
		Allocated []resource `json:"allocated"`
		Requested []resource `json:"requested"`
	} `json:"tres"`

	Constraints loose `json:"constraints"`
	Licenses    loose `json:"licenses"`
	Reservation struct {
		Name loose `json:"name"`
	} `json:"reservation"`

	Steps []struct{} `json:"steps"`

	// Fields of squeue's jobs, which tell them from those of sacct.
	JobState   any `json:"job_state"`
	SubmitTime any `json:"submit_time"`
}

// resource is an amount of a trackable resource.
type resource struct {
	Type  string  `json:"type"`
	Name  string  `json:"name"`
	Count numeral `json:"count"`
}

// numeral is a number, plain or as {"set": true, "infinite": false, "number": 4}.
type numeral struct {
	n     uint64
	known bool
}

// UnmarshalJSON reads either form. What is not set, null, infinite or a number of 32 bits that says so is not known.
func (v *numeral) UnmarshalJSON(text []byte) error {
	*v = numeral{}
	switch {
	case bytes.Equal(text, []byte("null")):
		return nil
	case text[0] == '{':
		var form struct {
			Set      *bool       `json:"set"`
			Infinite bool        `json:"infinite"`
			Number   json.Number `json:"number"`
		}
		if err := json.Unmarshal(text, &form); err != nil {
			return err
		}
		if form.Infinite || form.Set != nil && !*form.Set || form.Number == "" {
			return nil
		}
		text = []byte(form.Number)
	case text[0] == '"':
		if text = bytes.Trim(text, `"`); len(text) == 0 {
			return nil
		}
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		decimal, wrong := strconv.ParseFloat(string(text), 64)
		if wrong != nil || !(decimal < 1e15) {
			return &numeralError{head(string(text))}
		}
		if decimal < 0 {
			return nil
		}
		n = uint64(decimal)
	}
	*v = numeral{n, n != noValue && n != infinite && n < math.MaxUint64-1} // the same in 64 bits
	return nil
}

// numeralError says that a value is no number.
type numeralError struct{ text string }

// Error returns what it is.
func (e *numeralError) Error() string { return fmt.Sprintf("%q is no number", e.text) }

// or returns the number, or another one if it is not known; it is at most the bound of amounts.
func (v numeral) or(other int64) int64 {
	if !v.known {
		return other
	}
	return int64(min(v.n, uint64(maxNumber)))
}

// words is a text, or the first of a list of texts.
type words string

// UnmarshalJSON reads either form.
func (w *words) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		return json.Unmarshal(text, (*string)(w))
	}
	var list []string
	err := json.Unmarshal(text, &list)
	if len(list) > 0 {
		*w = words(list[0])
	}
	return err
}

// loose is whether there is a text. Some versions have 0 where there is none.
type loose bool

// UnmarshalJSON reads any value.
func (l *loose) UnmarshalJSON(text []byte) error {
	*l = len(text) > len(`""`) && text[0] == '"'
	return nil
}

// perCPU is the bit by which early versions say that memory is that of each cpu.
const perCPU = 1 << 63

// record returns what the object says of a job.
func (o *object) record(line int) record {
	r := blank(line)
	r.id.raw, r.id.job = o.JobID.or(0), o.JobID.or(0)
	switch {
	case o.Het.JobID.or(0) > 0:
		r.id.job, r.id.part = o.Het.JobID.or(0), o.Het.Offset.or(0)
	case o.Array.JobID.or(0) > 0:
		r.id.job, r.id.task = o.Array.JobID.or(0), o.Array.TaskID.or(-1)
		if list, isText := o.Array.Task.(string); isText && list != "" {
			if tasks, err := readTasks(trimBrackets(list)); err == nil {
				r.id.tasks = tasks
			}
		}
	}
	r.cluster, r.user, r.account, r.partition, r.qos, r.name = o.Cluster, o.User, o.Account, o.Partition, o.QOS, o.Name
	r.state = stateOf(string(o.State.Current))
	t := o.Time
	r.submit, r.eligible, r.start, r.end = t.Submission.or(0), t.Eligible.or(0), t.Start.or(0), t.End.or(0)
	r.elapsed, r.limit, r.nodes = t.Elapsed.or(-1), min(times(t.Limit.or(0), minute), maxNumber), o.Nodes.or(0)
	r.allocated.fill(o.TRES.Allocated)
	r.requested.fill(o.TRES.Requested)
	if r.requested.cpus < 0 {
		r.requested.cpus = o.Required.CPUs.or(-1)
	}
	required := o.Required
	switch {
	case required.MemoryPerCPU.or(0) > 0:
		r.memory = memory{required.MemoryPerCPU.or(0), 'c', true}
	case required.MemoryPerNode.or(0) > 0:
		r.memory = memory{required.MemoryPerNode.or(0), 'n', true}
	case required.Memory.known && required.Memory.n&perCPU != 0:
		r.memory = memory{int64(min(required.Memory.n&^perCPU, uint64(maxNumber))), 'c', true}
	case required.Memory.or(0) > 0:
		r.memory = memory{required.Memory.or(0), 'n', true}
	}
	r.constraints, r.licenses, r.reservation = bool(o.Constraints), bool(o.Licenses), bool(o.Reservation.Name)
	return r
}

func trimBrackets(list string) string {
	if n := len(list); n > 1 && list[0] == '[' && list[n-1] == ']' {
		return list[1 : n-1]
	}
	return list
}

// fill notes the amounts of a list.
func (a *amounts) fill(list []resource) {
	for _, r := range list {
		name := r.Type
		if r.Name != "" {
			name += "/" + r.Name
		}
		if r.Count.known {
			a.put(name, r.Count.or(0))
		}
	}
}
