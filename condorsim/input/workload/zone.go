package workload

import (
	"archive/zip"
	"bytes"
	_ "embed" // for zoneinfo
	"io"
	"strconv"
	"time"
)

// zoneinfo is lib/time/zoneinfo.zip of Go 1.26: the time zones of the IANA, in the public domain.
// The machine's own ones are not used, nor [time/tzdata], which is asked only after these: there are
// older and newer ones, and a simulation gives the same bytes everywhere.
//
//go:embed zoneinfo.zip
var zoneinfo []byte

// loadZone returns the time zone of a name of the IANA, such as US/Pacific; nil if there is none.
func loadZone(name string) *time.Location {
	all, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		return nil
	}
	file, err := all.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	rules, err := io.ReadAll(file)
	if err != nil {
		return nil
	}
	zone, err := time.LoadLocationFromTZData(name, rules)
	if err != nil {
		return nil
	}
	return zone
}

// Start returns the Unix time at which a trace starts; 0 if the header has none or one that cannot
// be true.
func (h Header) Start() int64 {
	t := h.Number(keyStart)
	if t > 1<<40 {
		return 0
	}
	return t
}

// StartAt sets the Unix time at which the trace starts.
func (h Header) StartAt(unix int64) {
	if unix > 0 {
		h[keyStart] = strconv.FormatInt(unix, 10)
	}
}

// Zone returns the local time zone of the machine: TimeZoneString, else the offset TimeZone, in
// seconds, else UTC. If TimeZoneString is the name of no zone, the name is returned as unknown.
func (h Header) Zone() (zone *time.Location, unknown string) {
	name := h.Text("TimeZoneString")
	if name != "" {
		if zone = loadZone(name); zone != nil {
			return zone, ""
		}
	}
	if offset, known := h.Offset(); known {
		return time.FixedZone("", int(offset)), name
	}
	return time.UTC, name
}

// Offset returns how many seconds the machine's clock is ahead of UTC, if TimeZone says that.
func (h Header) Offset() (seconds int64, known bool) {
	const day = 24 * 60 * 60
	seconds, err := strconv.ParseInt(h.Text("TimeZone"), 10, 64)
	if err != nil || seconds <= -day || seconds >= day {
		return 0, false
	}
	return seconds, true
}

// SetZone sets the local time zone of the machine to that of a name of the IANA; "" leaves it as it is.
func (h Header) SetZone(name string) {
	if name != "" {
		h["TimeZoneString"] = name
	}
}

// Location returns the time zone of the dates of a file; UTC unless [Options.Zone] names another.
func (o Options) Location() *time.Location {
	if o.Zone != "" {
		if zone := loadZone(o.Zone); zone != nil {
			return zone
		}
	}
	return time.UTC
}
