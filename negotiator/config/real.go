package config

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"time"
)

// LocalPool names the pool of this machine's HTCondor configuration.
const LocalPool = "htcondor"

// FairShare is the name of the queue's order by HTCondor's user priorities, on real pools only.
const FairShare = "fairshare"

// Real has the settings for a real pool; a simulated one ignores them.
type Real struct {
	// Observe plans and publishes start times but matches nothing.
	Observe bool `yaml:"observe"`
	// State is the folder in which guarantees and usage survive the process; empty means that they
	// do not, except under HTCondor's own configuration, where the default is $(SPOOL)/backfill.
	State string `yaml:"state"`
	// HTTP is the address that serves metrics and start times; empty means none.
	HTTP string `yaml:"http"`
	// Interval is the time between cycles when nothing happens; CycleDelay is the minimum time
	// between the end of a cycle and the next, whoever asks for it.
	Interval   Duration `yaml:"interval"`
	CycleDelay Duration `yaml:"cycle_delay"`
	// StartSlack is added to the length of each job's place in the plan.
	StartSlack Duration `yaml:"start_slack"`
	// Reasons tells schedds why jobs wait.
	Reasons bool `yaml:"reasons"`
	// Token is a file or folder of tokens that authenticate us; empty means those of HTCondor's
	// configuration.
	Token string `yaml:"token"`
}

var defaultReal = Real{
	Interval: Duration(time.Minute), CycleDelay: Duration(time.Second), StartSlack: Duration(time.Minute),
	Reasons: true,
}

// ForPool returns the default configuration for a real pool.
func ForPool(pool string) Config {
	c := Default()
	c.Pool = pool
	c.PlanDepth, c.Reorder = 10_000, true
	return c
}

// OnRealPool reports whether the pool is a real one.
func (c Config) OnRealPool() bool { return c.Pool == LocalPool || strings.HasPrefix(c.Pool, scheme) }

// scheme begins the address of a real pool.
const scheme = "htcondor://"

// Collector returns HOST:PORT of a real pool's collector, or "" if HTCondor's configuration names
// it. It returns an error if Pool is not a valid address.
func (c Config) Collector() (string, error) {
	address, given := strings.CutPrefix(c.Pool, scheme)
	if !given {
		return "", nil
	}
	address = strings.TrimSuffix(address, "/")
	if !strings.Contains(address, ":") || strings.HasSuffix(address, "]") {
		address += ":9618"
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || port == "") {
		err = fmt.Errorf("%s: a part is missing", address)
	}
	if err != nil {
		return "", fmt.Errorf("%s: must be htcondor://HOST:PORT of a collector: %w", c.Pool, err)
	}
	return address, nil
}

func (r Real) faults() (all []fault) {
	must := func(key string, ok bool, value any, rule string) {
		if !ok {
			all = append(all, fault{[]string{key}, fmt.Errorf("%v: %s", value, rule)})
		}
	}
	second := Duration(time.Second)
	must("interval", r.Interval >= second, r.Interval, "must be at least 1s")
	must("cycle_delay", r.CycleDelay >= second, r.CycleDelay, "must be at least 1s")
	must("start_slack", r.StartSlack >= 0 && r.StartSlack%second == 0, r.StartSlack,
		"must be at least 0s, in whole seconds")
	if r.HTTP != "" {
		_, _, err := net.SplitHostPort(r.HTTP)
		must("http", err == nil, cmp.Or(r.HTTP, `""`), "must be HOST:PORT or :PORT")
	}
	return all
}
