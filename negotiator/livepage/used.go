package livepage

import (
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// used is how many cpu seconds each user's jobs have run for since the first picture.
type used struct {
	mu      sync.Mutex
	seconds map[string]int64
	last    *picture.Picture
}

// mostUsers bounds the users that are told apart.
const mostUsers = 10_000

// add counts what ran between the last picture and this one.
func (u *used) add(p *picture.Picture) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seconds == nil {
		u.seconds = map[string]int64{}
	}
	if before := u.last; before != nil && p.Head.Now > before.Head.Now {
		passed := p.Head.Now - before.Head.Now
		for i := range before.Jobs {
			j := &before.Jobs[i]
			if _, known := u.seconds[j.Owner]; !j.Waits() && (known || len(u.seconds) < mostUsers) {
				u.seconds[j.Owner] += j.Cpus * passed
			}
		}
	}
	u.last = p
}

// fill notes for each user what he has used, and adds those who have nothing now.
func (u *used) fill(all []user) []user {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := make(map[string]bool, len(all))
	for i := range all {
		all[i].Used = u.seconds[all[i].User]
		known[all[i].User] = true
	}
	for _, name := range sorted(u.seconds) {
		if !known[name] {
			all = append(all, user{User: name, Used: u.seconds[name]})
		}
	}
	return all
}
