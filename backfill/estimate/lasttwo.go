package estimate

import "github.com/condor-backfill/condor-backfill/backfill"

// lastTwo learns the last two run times of each user, for the estimator tsafrir. They are seconds,
// not shares of a request, so jobs without a request count, too.
type lastTwo struct {
	options
	users map[key]*runTimes
	whose queue[*runTimes] // the user of each job of the history, oldest first; nil: the job has none
	now   backfill.Time    // when the last job ended
}

// runTimes holds the last two run times of a user, the later one last.
type runTimes struct {
	key  key
	jobs int // number of the user's jobs in the history
	last [2]struct{ ran, at backfill.Time }
}

func newLastTwo(o options) *lastTwo { return &lastTwo{options: o, users: map[key]*runTimes{}} }

// of returns what was learned of the job's user, nil if nothing was, and the user's key, which is
// empty if the job has no user.
func (l *lastTwo) of(j *Job) (*runTimes, key) {
	k, ok := keyOf(j, l.userKeys)
	if !ok {
		return nil, k
	}
	k.unestimated = false
	return l.users[k], k
}

func (l *lastTwo) learn(e *Ended) {
	l.now = e.At
	user, k := l.of(&e.Job)
	if user == nil && k != (key{}) {
		user = &runTimes{key: k}
		l.users[k] = user
	}
	l.whose.push(user)
	if user == nil {
		return
	}
	user.jobs++
	user.last[0] = user.last[1]
	user.last[1].ran, user.last[1].at = e.Ran, e.At
}

func (l *lastTwo) forget(*Ended) {
	user := l.whose.pop()
	if user == nil {
		return
	}
	if user.jobs--; user.jobs == 0 {
		delete(l.users, user.key)
	}
}

// estimate returns the mean of the user's last two run times, rounded up. It returns what the job
// requests if the user has fewer, or if the older one ended longer before the last job of all users
// than the option max-age says.
func (l *lastTwo) estimate(j *Job) backfill.Time {
	user, _ := l.of(j)
	if user == nil || user.jobs < 2 || l.maxAge > 0 && l.now-user.last[0].at > l.maxAge {
		return j.Requested
	}
	return (user.last[0].ran + user.last[1].ran + 1) / 2
}
