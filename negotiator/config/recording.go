package config

import (
	"reflect"
	"strconv"
)

// Recording says what is written down of the cycles, see package record.
type Recording struct {
	// Record is the file that a record is written to; "": none is.
	Record string
	// RecordSize is how many MiB all files of the record take at most.
	RecordSize int
	// RecordAnonymous has names replaced by pseudonyms.
	RecordAnonymous bool
}

var recording = []Setting{
	set(func(c *Config) *string { return &c.Record }, "", Setting{
		Key: "record", Knob: "BACKFILL_RECORD", Restart: true, Example: "/var/lib/condor/backfill.rec",
		Doc: "The file that a record is written to of what the pool told and what was decided; none where nothing is said.",
		More: "condorsim replay decides it again. The file is replaced each day, or when it has a sixteenth of record_size; " +
			"former ones are beside it. What stops it stops nothing else.",
		Check: func(c *Config) error {
			_, err := strconv.Atoi(c.Record)
			return must(err != nil, c.Record, "must be a file; how many MiB the record of an observer takes is "+
				"observer_record (BACKFILL_OBSERVER_RECORD)")
		},
	}),
	set(func(c *Config) *int { return &c.RecordSize }, 1024, Setting{
		Key: "record_size", Knob: "BACKFILL_RECORD_SIZE", Restart: true,
		Doc:  "How many MiB all files of the record take at most; the oldest goes first.",
		More: "An event takes some 30 to 100 bytes.",
		Check: func(c *Config) error {
			const most = 1 << 20 // a tebibyte
			return must(c.RecordSize >= 1 && c.RecordSize <= most, c.RecordSize, "must be from 1 to 1048576")
		},
	}),
	set(func(c *Config) *bool { return &c.RecordAnonymous }, false, Setting{
		Key: "record_anonymous", Knob: "BACKFILL_RECORD_ANONYMOUS", Restart: true,
		Doc:  "Have a record name users, groups, machines and paths by pseudonyms.",
		More: "They are the same in all files of the record. Whose they are is in the file beside it that ends with .names.",
	}),
}

// Deciding returns the settings by which jobs are planned that are not as they are by default, by their keys.
func (c Config) Deciding() map[string]string {
	given := map[string]string{}
	for _, list := range [][]Setting{deciding, estimating} {
		for _, s := range list {
			if s.Key == "" || s.Target == nil {
				continue
			}
			value := reflect.ValueOf(s.Target(&c)).Elem().Interface()
			if text := KnobText(value); text != KnobText(s.Default) {
				given[s.Key] = text
			}
		}
	}
	return given
}
