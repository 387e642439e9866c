package daemon

import (
	"math"
	"strconv"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor"
)

// tune tunes a pool anew. A cycle and a new configuration may do so at the same time: the newest counts.
func (d *Daemon) tune(pool Pool) {
	d.tuning.Lock()
	defer d.tuning.Unlock()
	pool.Tune(d.poolTuning())
}

// poolTuning returns the pool's tuning at the moment: what our own ad has to say counts.
func (d *Daemon) poolTuning() htcondor.Tuning {
	t := *d.tuned.Load()
	t.ShutdownThreshold = 0
	if n, ok := d.valueOf(t.ShutdownExpr).Number(); ok && n > 0 {
		t.ShutdownThreshold = time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	return t.Tuning
}

// valueOf returns the value of an expression over our own ad; undefined for one that cannot be parsed.
func (d *Daemon) valueOf(text string) classad.Value {
	e, err := classad.ParseExpr(text)
	if text == "" || err != nil {
		return classad.Value{}
	}
	if _, err = strconv.Atoi(text); err == nil { // the ad needs not be made
		return e.Eval(classad.Scope{MaxSteps: classad.FewSteps})
	}
	return e.Eval(classad.Scope{My: d.Ad(), MaxSteps: classad.FewSteps})
}
