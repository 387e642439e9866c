package daemon

import (
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// tellAgain is how long after a problem was told it is told again, if it goes on.
const tellAgain = time.Hour

// untold returns the problems that are new, or were told an hour ago. The cycle has begun by now.
func (c *cycles) untold(problems []string) (news []string) {
	now, told := c.now.Began, make(map[string]time.Time, len(problems))
	for _, p := range problems {
		at, known := c.told[p]
		if !known || now.Sub(at) >= tellAgain {
			news, at = append(news, p), now
		}
		told[p] = at
	}
	c.told = told
	return news
}

// few returns the first problems, and how many more there are.
func few(problems []string) []string {
	const most = 10 * mostLines
	if len(problems) <= most {
		return problems
	}
	return append(problems[:most:most], fmt.Sprintf("and %d more", len(problems)-most))
}

// unbearable names the slots that get no jobs because of their own Requirements.
func unbearable(r *negotiator.Report) (problems []string) {
	for _, name := range r.Unbearable {
		problems = append(problems, fmt.Sprintf("slot %s, and any like it, gets no jobs: "+
			"its own Requirements (START) are too expensive to evaluate", name))
	}
	return problems
}
