package record

import (
	"crypto/sha256"
	"errors"
	"maps"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// About is what a record says of whose it is. It is asked when a file begins, and when the policy changes.
type About struct {
	Program string // what writes it, with its version
	Pool    string // the pool, or the workload
	// UnixStart is instant 0 as a Unix time; 0: the pool has a clock of its own.
	UnixStart int64
	// Observing says that the decisions are not carried out.
	Observing bool
	// StartSlack and DefaultEstimate are those of the negotiator's configuration.
	StartSlack, DefaultEstimate backfill.Time
	// Settings are those of the policy that are in force, by their keys in the configuration file.
	Settings map[string]string
}

// Recorder writes a record of a negotiator's cycles. It is one's [negotiator.Config].Recorder, and after that
// one's end perhaps another's, of the same pool. Nothing that goes wrong with it reaches the cycles.
type Recorder struct {
	writer *writer
	about  func() About
	texts  *texts
	keys   *Keys
	n      *negotiator.Negotiator // whose cycles are in the file; nil: none yet
	names  *names                 // pseudonyms; nil: names are as they are
	buffer []byte
}

// Told begins a file if there is none, or if it is time for another one, and writes down what the pool told.
func (r *Recorder) Told(n *negotiator.Negotiator, d *negotiator.Delta) {
	if r.writer.stopped() {
		return
	}
	if r.n != n || r.writer.isFull() {
		r.begin(n)
	}
	r.write(&recordv1.Entry{Entry: &recordv1.Entry_Told{Told: r.texts.told(d)}})
	r.writer.cycle(int64(d.Now))
}

// Changed writes down that another policy, or other settings, hold from the next cycle on.
func (r *Recorder) Changed(n *negotiator.Negotiator) {
	if r.n != n || r.writer.stopped() {
		return // the file begins with those of then
	}
	r.write(&recordv1.Entry{Entry: &recordv1.Entry_Change{Change: &recordv1.Change{Policy: policyOf(n, r.about().Settings)}}})
}

// Decided writes a round down.
func (r *Recorder) Decided(s backfill.Settled) {
	if r.n == nil || r.writer.stopped() {
		return
	}
	plain := *s.Round
	plain.Keys = nil
	round := wire.EncodeRound(plain)
	for _, e := range round.GetEvents() {
		withoutLabels(e.GetSpec())
	}
	entry := &recordv1.Round{By: s.Decision.By, Own: s.Own}
	r.keys.pack(s.Round, entry)
	settled := &policyv1.Settled{Round: round, Journal: wire.EncodeJournal(s.Decision.Actions)}
	if r.names != nil {
		r.names.settled(settled)
	}
	text, err := settled.MarshalVT()
	if err != nil {
		r.writer.fail(err)
		return
	}
	entry.Settled = text
	if s.Refused != nil {
		entry.Refused = wire.Text(s.Refused.Error())
	}
	r.write(&recordv1.Entry{Entry: &recordv1.Entry_Round{Round: entry}})
	r.writer.round()
}

// Close ends the record, and waits until all is written. The error is what has stopped it, then or before.
func (r *Recorder) Close() error {
	r.end("ended")
	r.n = nil
	err := r.writer.close()
	if r.names != nil {
		err = errors.Join(err, r.names.close())
	}
	return err
}

// Err returns what has stopped the record; nil: it goes on.
func (r *Recorder) Err() error { return r.writer.err() }

// begin begins a file with the state of a negotiator.
func (r *Recorder) begin(n *negotiator.Negotiator) {
	if r.n != nil {
		r.end("rotated")
	}
	r.n, r.texts, r.keys = n, newTexts(r.write), NewKeys()
	r.writer.next()
	about, at := r.about(), n.Checkpoint()
	begin := &recordv1.Begin{
		Program: about.Program, UnixStart: about.UnixStart, Now: int64(at.Now), Policy: policyOf(n, about.Settings),
		StartSlack: int64(about.StartSlack), DefaultEstimate: int64(about.DefaultEstimate), Pool: wire.Text(about.Pool),
		Observing: about.Observing, Snapshot: snapshot(n.State(), r.names),
		Slots: wire.Each(at.Slots, r.texts.slot), Bundles: wire.Each(at.Bundles, r.texts.bundle), Limits: wire.Each(at.Limits, limit),
		Jobs: wire.Each(at.Jobs, func(j negotiator.JobCheckpoint) *recordv1.Job { return r.texts.job(j.Job) }),
	}
	for _, slot := range at.Away {
		away := r.texts.slot(slot)
		away.Away = true
		begin.Slots = append(begin.Slots, away)
	}
	r.write(&recordv1.Entry{Entry: &recordv1.Entry_Begin{Begin: begin}})
}

// end writes down that a negotiator, or a file, has ended.
func (r *Recorder) end(reason string) {
	if r.n == nil || r.writer.stopped() {
		return
	}
	state := r.n.State()
	sum := sha256.Sum256(snapshot(state, r.names))
	r.write(&recordv1.Entry{Entry: &recordv1.Entry_End{End: &recordv1.End{
		Now: int64(state.Now()), State: sum[:], Reason: reason,
	}}})
}

// write hands an entry to the writer.
func (r *Recorder) write(e *recordv1.Entry) {
	if r.names != nil {
		if r.names.entry(e); r.names.err != nil {
			r.writer.fail(r.names.err)
			return
		}
	}
	size := e.SizeVT()
	if cap(r.buffer) < size {
		r.buffer = make([]byte, size)
	}
	text := r.buffer[:size]
	if _, err := e.MarshalToSizedBufferVT(text); err != nil {
		r.writer.fail(err)
		return
	}
	r.writer.append(text)
	if cap(r.buffer) > 1<<20 {
		r.buffer = nil
	}
}

// Digest returns the SHA-256 of a state as records have it; as anonymous ones, if so.
func Digest(s *backfill.State, anonymous bool) []byte {
	message := unlabelled(s)
	if anonymous {
		hideReasons(message)
	}
	text, _ := message.MarshalVT() // fails for no message
	sum := sha256.Sum256(text)
	return sum[:]
}

// snapshot returns a state as a policyv1.Snapshot, without the labels of jobs, and with pseudonyms if there are any.
func snapshot(s *backfill.State, hidden *names) []byte {
	message := unlabelled(s)
	if hidden != nil {
		hidden.state(message)
	}
	text, _ := message.MarshalVT() // fails for no message
	return text
}

func unlabelled(s *backfill.State) *policyv1.Snapshot {
	message := wire.EncodeSnapshot(s.Snapshot())
	for _, j := range message.GetJobs() {
		withoutLabels(j.GetJob())
	}
	return message
}

// withoutLabels takes the labels off a job, which are those that were told. In a map they would be in a
// different order each time.
func withoutLabels(j *policyv1.Job) {
	if j != nil {
		j.Labels = nil
	}
}

// policyOf returns who decides for a negotiator.
func policyOf(n *negotiator.Negotiator, settings map[string]string) *recordv1.Policy {
	main, fallback := negotiator.Deciders(n)
	spec := main.Spec()
	options, plugin := map[string]string(nil), true
	if configured, ok := main.(interface{ Options() map[string]string }); ok {
		options = maps.Clone(configured.Options())
	}
	if _, linked := main.(*backfill.Linked); linked {
		plugin = false
	}
	return &recordv1.Policy{
		Name: wire.Text(spec.Name), Options: settingsOf(options), Guarantees: spec.Guarantees, Plugin: plugin,
		Fallback: wire.Text(fallback.Spec().Name), Settings: settingsOf(settings),
	}
}
