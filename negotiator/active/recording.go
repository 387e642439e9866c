package active

import (
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/plugins/version"
)

// A file of a record is replaced after a day, or when it has this share of all that the record may take.
const (
	recordAge   = 24 * time.Hour
	recordShare = 16
)

// Recorder begins the record that the settings ask for; nil: none. The options say what the settings do not: the
// clock, and when what was told is written. About says what the record is of; its program and settings are filled
// in, in the goroutine of the cycles.
func (a *Activator) Recorder(o record.Options, about func() record.About) (*record.Recorder, error) {
	s := a.Settings
	if s.Record == "" {
		return nil, nil //nolint:nilnil // nil is a record that is not wanted
	}
	program, err := version.ID()
	if err != nil {
		return nil, err
	}
	o.Path, o.Total, o.Age = s.Record, int64(s.RecordSize)<<20, recordAge
	o.FileSize, o.Anonymous = o.Total/recordShare, s.RecordAnonymous
	o.Failed = func(err error) {
		a.Logger.Error("nothing more is recorded; all else goes on", "error", err)
	}
	recorder, err := record.New(o, func() record.About {
		all := about()
		all.Program, all.Settings = "negotiator "+program, a.deciding()
		return all
	})
	if err != nil {
		return nil, a.Source.Locate(err, "record")
	}
	a.Logger.Info("what is told and decided is recorded", "file", s.Record, "most_mib", s.RecordSize)
	return recorder, nil
}

// deciding returns the settings by which jobs are planned now.
func (p *Policy) deciding() map[string]string {
	settings := p.Settings.Deciding()
	if p.Chooser != nil {
		settings["policy"], settings["order"] = p.InCharge()
		delete(settings, "policy_options") // which are the chooser's own
	}
	return settings
}
