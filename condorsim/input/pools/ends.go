package pools

import "github.com/condor-backfill/condor-backfill/backfill"

// ending is the end of slots, which their ads tell beforehand ([ToDie]): at a time, once, or again and
// again, as pilots do. Slots are names or shell patterns; none: all slots.
type ending struct {
	Slots []string `yaml:"slots"`
	// At is from the first submission on, or a date; the slots are back after For, without it never.
	At  *moment `yaml:"at"`
	For *span   `yaml:"for"`
	// Lasts is how long slots last at least and at most, or one length for all; others are there in
	// their place after Again.
	Lasts []span `yaml:"lasts"`
	Again *span  `yaml:"again"`
	// Retire is how long before its end a slot retires: its ad tells when ([ToRetire]), for its START.
	Retire *span `yaml:"retire"`
}

// defaultAgain is how long it takes by default until another slot comes for one that has ended.
const defaultAgain = 60

// addEnd adds the end of slots to the pool.
func (b *builder) addEnd(at string, e *ending) error {
	slots, err := b.find(at, e.Slots)
	switch {
	case err != nil:
		return err
	case len(b.pool.Bundles) > 0:
		return b.wrong(at, "partitions do not end; drains take them out of use")
	case (e.At != nil) == (len(e.Lasts) > 0) || e.For != nil && e.At == nil || e.Again != nil && e.At != nil:
		return b.wrong(at, "must have either at (and for), or lasts (and again)")
	}
	made := Outage{Slots: slots, Told: true}
	if e.Retire != nil {
		made.Retire = backfill.Time(*e.Retire)
	}
	if e.At != nil {
		made.At, made.Date = backfill.Time(e.At.after), e.At.date
	} else if err = b.setLasting(at, e, &made); err != nil {
		return err
	}
	if e.For != nil {
		if made.For = backfill.Time(*e.For); made.For == 0 {
			return b.wrong(at+".for", "must be at least a second; leave it out for good")
		}
	}
	b.pool.Outages = append(b.pool.Outages, made)
	return nil
}

// setLasting says how long slots last that end again and again.
func (b *builder) setLasting(at string, e *ending, made *Outage) error {
	made.Lasts = [2]backfill.Time{backfill.Time(e.Lasts[0]), backfill.Time(e.Lasts[len(e.Lasts)-1])}
	made.For = defaultAgain
	if e.Again != nil {
		made.For = backfill.Time(*e.Again)
	}
	switch {
	case len(e.Lasts) > 2 || made.Lasts[0] > made.Lasts[1]:
		return b.wrong(at+".lasts", "must be the least and the most, such as [24h, 48h]")
	case made.Lasts[0] == 0:
		return b.wrong(at+".lasts", "must be at least a second")
	case made.For == 0:
		return b.wrong(at+".again", "must be at least a second")
	}
	return nil
}
