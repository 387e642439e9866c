package process

import (
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// flushEvery is how often what was recorded is written, so how much a killed process loses at most.
const flushEvery = 5 * time.Second

// openRecorder begins the record of the cycles, if there is to be one.
func (p *process) openRecorder() (err error) {
	p.recorder, err = p.Recorder(record.Options{Tick: time.Tick(flushEvery), Clock: time.Now}, func() record.About {
		s := p.Settings
		return record.About{
			Pool: s.Pool, Observing: s.Observe, StartSlack: seconds(s.StartSlack), DefaultEstimate: seconds(s.DefaultEstimate),
		}
	})
	return err
}

// recording is who is told of cycles, to write them down; nil: nobody is.
func (p *process) recording() negotiator.Recorder {
	if p.recorder == nil {
		return nil // no interface that holds a nil
	}
	return p.recorder
}
