package stockmodel

// Job is a job of a load, in negotiation cycles.
type Job struct {
	User        int // its index
	Submit, Run int
}

// Usage is what users have used by day, in slot days.
type Usage [][]float64

const day = 86400 // in seconds

// NewUsage returns that of so many users and days in which nothing was used yet.
func NewUsage(users, days int) Usage {
	u := make(Usage, users)
	for i := range u {
		u[i] = make([]float64, days)
	}
	return u
}

// Add counts a run of a user, from one second to another.
func (u Usage) Add(user int, from, to int64) {
	for from < to {
		at := int(from / day)
		if at >= len(u[user]) {
			return
		}
		until := min(to, int64(at+1)*day)
		u[user][at] += float64(until-from) / day
		from = until
	}
}

// Play has jobs, by their submission, run for so many days in a pool, and returns who used what. A user's jobs
// start in the order of their submission.
func Play(p *Pool, jobs []Job, days int) Usage {
	n, used := New(p), NewUsage(len(p.Users), days)
	queues, running := make([][]Job, len(p.Users)), make([]int, len(p.Users))
	ends, free := map[int][]int{}, p.Slots // the users of jobs that end, by cycle
	waiting := make([]int, len(p.Users))
	for cycle := range days * day / p.Cycle {
		for _, user := range ends[cycle] {
			running[user]--
			free++
		}
		delete(ends, cycle)
		for len(jobs) > 0 && jobs[0].Submit <= cycle {
			queues[jobs[0].User], jobs = append(queues[jobs[0].User], jobs[0]), jobs[1:]
		}
		for i := range queues {
			waiting[i] = len(queues[i])
		}
		for _, i := range n.Choose(free, waiting, running) {
			j := queues[i][0]
			queues[i] = queues[i][1:]
			ends[cycle+j.Run] = append(ends[cycle+j.Run], i)
			used.Add(i, int64(cycle)*int64(p.Cycle), int64(cycle+j.Run)*int64(p.Cycle))
			running[i]++
			free--
		}
	}
	return used
}
