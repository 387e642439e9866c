package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// enough is the number of findings after which the check stops; more would not help the author.
const enough = 3

// conformance runs the policy through random pools.
func (c *checker) conformance(ctx context.Context) (Check, error) {
	remote, err := c.start(ctx, c.options.Policy)
	if err != nil {
		return c.died(ctx, err)
	}
	defer remote.Close()
	var broken []conformance.Finding
	advice := map[conformance.Rule][]conformance.Finding{}
	pools, refused := 0, 0
	for i := range c.scale.pools {
		c.progress(float64(i) / float64(c.scale.pools))
		findings, err := conformance.Conform(ctx, c.pool(i), c.scale.rounds, remote)
		if err != nil {
			return Check{}, err
		}
		pools++
		for _, f := range findings {
			if f.Rule.Advice() {
				advice[f.Rule] = append(advice[f.Rule], f)
				continue
			}
			if broken = append(broken, f); f.Rule == conformance.Accepted {
				refused++
			}
		}
		if len(broken) >= enough || remote.Stats().Failures > 0 {
			break
		}
	}
	c.advised = advised(advice, refused, pools)
	if len(broken) == 0 {
		return passed("%d random pools of %d rounds: every decision is possible, nothing is oversubscribed, every "+
			"guarantee is kept", pools, c.scale.rounds), nil
	}
	first := broken[0]
	check := failed(first.Remedy(), "%s", first).at(first.Seed)
	if more := len(broken) - 1; more > 0 {
		check.Seen += fmt.Sprintf(" (and in %d more of %d pools)", more, pools)
	}
	check.Seen = c.nameless(check.Seen)
	switch {
	case remote.Stats().Failures > 0:
		check.Do = "make the policy answer every round within the deadline: it must not exit, hang or break the " +
			"protocol, whatever the pool looks like"
		check.Log = c.tail.last()
		c.stop = "the plugin failed in the conformance check"
	case strings.Contains(first.Text, "panicked"):
		check.Do = "mend the panic: the plugin's log has its stack"
		check.Log = c.tail.last()
	}
	return check, nil
}

// advised returns the check about recommendations: a warning about the first one that the policy
// does not follow, if there is one. Some pools ended early, because a decision was refused.
func advised(found map[conformance.Rule][]conformance.Finding, refused, pools int) Check {
	for _, rule := range []conformance.Rule{conformance.Drains, conformance.HeadStarts} {
		if at := found[rule]; len(at) > 0 {
			return Check{
				Verdict: Warning, Do: at[0].Remedy(),
				Seen: fmt.Sprintf("%s (in %d of %d pools)", at[0], len(at), pools),
			}.at(at[0].Seed)
		}
	}
	if refused > 0 {
		return Check{Verdict: Inconclusive, Seen: fmt.Sprintf("a decision did not count in %d of %s, and the pool ended "+
			"there: this says nothing about the policy", refused, count(pools, "pool"))}
	}
	return passed("no job at the head of the queue is left waiting while it fits, and in the end every job has run")
}

// advice returns the check about recommendations, which was made by the conformance check.
func (c *checker) advice(context.Context) (Check, error) { return c.advised, nil }

// died returns the failed check of a plugin that has started before and no longer does. The only
// error is that of a context that has ended.
func (c *checker) died(ctx context.Context, err error) (Check, error) {
	if ctx.Err() != nil {
		return Check{}, ctx.Err()
	}
	check := failed("make the plugin start every time, whatever else runs on the machine",
		"it started before and now it does not: %s", c.plain(err))
	check.Log = c.tail.last()
	return check, nil
}
