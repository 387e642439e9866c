package picture

import (
	"encoding/json"
	"strconv"
)

// This file writes JSON as package encoding/json does, several times as fast: a picture of a large pool is
// megabytes, and whoever opens the page waits for it.

// AppendJSON appends the picture as far as it is drawn: "head":…,"slots":[…],"jobs":[…].
func (p *Picture) AppendJSON(text []byte) ([]byte, error) {
	d := Difference{Head: p.Head, Slots: p.Slots, Jobs: p.Bars()}
	text, err := d.appendHead(text)
	if err != nil {
		return nil, err
	}
	text = append(text, `,"slots":`...)
	if text, err = d.appendSlots(text); err != nil {
		return nil, err
	}
	return d.appendJobs(append(text, `,"jobs":`...)), nil
}

// AppendJSON appends the members of the difference as JSON: "head":… and what else there is.
func (d *Difference) AppendJSON(text []byte) ([]byte, error) {
	text, err := d.appendHead(text)
	if err != nil {
		return nil, err
	}
	if len(d.Slots) > 0 {
		if text, err = d.appendSlots(append(text, `,"slots":`...)); err != nil {
			return nil, err
		}
	}
	if len(d.SlotsGone) > 0 {
		text = appendNumbers(append(text, `,"slots_gone":`...), d.SlotsGone)
	}
	if len(d.Jobs) > 0 {
		text = d.appendJobs(append(text, `,"jobs":`...))
	}
	if len(d.JobsGone) > 0 {
		text = appendNumbers(append(text, `,"jobs_gone":`...), d.JobsGone)
	}
	return text, nil
}

func (d *Difference) appendHead(text []byte) ([]byte, error) {
	head, err := json.Marshal(d.Head)
	return append(append(text, `"head":`...), head...), err
}

func (d *Difference) appendSlots(text []byte) ([]byte, error) {
	text = append(text, '[')
	for i := range d.Slots {
		if i > 0 {
			text = append(text, ',')
		}
		s := &d.Slots[i]
		if s.Drain != nil { // there are few
			one, err := json.Marshal(s)
			if err != nil {
				return nil, err
			}
			text = append(text, one...)
			continue
		}
		text = strconv.AppendInt(append(text, `{"id":`...), int64(s.ID), 10)
		text = appendString(append(text, `,"name":`...), s.Name)
		text = appendString(append(text, `,"machine":`...), s.Machine)
		text = appendNumbers(append(text, `,"capacity":`...), s.Capacity)
		if s.Down {
			text = append(text, `,"down":true`...)
		}
		text = append(s.End.appendJSON(text, `,"end":`), '}')
	}
	return append(text, ']'), nil
}

func (d *Difference) appendJobs(text []byte) []byte {
	text = append(text, '[')
	for i := range d.Jobs {
		if i > 0 {
			text = append(text, ',')
		}
		text = d.Jobs[i].appendJSON(text)
	}
	return append(text, ']')
}

func (b *Bar) appendJSON(text []byte) []byte {
	text = strconv.AppendInt(append(text, `{"id":`...), int64(b.ID), 10)
	text = appendString(append(text, `,"job":`...), b.Name)
	text = appendString(append(text, `,"owner":`...), b.Owner)
	if b.Group != "" {
		text = appendString(append(text, `,"group":`...), b.Group)
	}
	text = appendString(append(text, `,"situation":`...), b.Situation)
	text = strconv.AppendInt(append(text, `,"cpus":`...), b.Cpus, 10)
	text = strconv.AppendInt(append(text, `,"submit":`...), b.Submit, 10)
	text = b.Start.appendJSON(text, `,"start":`)
	text = b.End.appendJSON(text, `,"end":`)
	text = b.Likely.appendJSON(text, `,"likely":`)
	text = b.Reserved.appendJSON(text, `,"reserved":`)
	text = b.Low.appendJSON(text, `,"low":`)
	text = b.High.appendJSON(text, `,"high":`)
	text = b.Guarantee.appendJSON(text, `,"guarantee":`)
	for i, at := range b.At {
		if i == 0 {
			text = append(text, `,"at":[[`...)
		} else {
			text = append(text, `,[`...)
		}
		text = append(strconv.AppendInt(text, int64(at.Slot), 10), ',')
		text = append(strconv.AppendInt(text, at.Cpus, 10), ']')
	}
	if len(b.At) > 0 {
		text = append(text, ']')
	}
	return append(text, '}')
}

// appendJSON appends the moment behind what names it; nothing if there is none.
func (m Moment) appendJSON(text []byte, name string) []byte {
	if !m.Known {
		return text
	}
	return strconv.AppendInt(append(text, name...), m.At, 10)
}

func appendNumbers[T ~int32 | ~int64](text []byte, all []T) []byte {
	if all == nil {
		return append(text, "null"...)
	}
	text = append(text, '[')
	for i, n := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(n), 10)
	}
	return append(text, ']')
}

// appendString appends a text, nearly all of which need no escapes.
func appendString(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic("internal error: a text is no JSON: " + err.Error())
			}
			return append(text, quoted...)
		}
	}
	return append(append(append(text, '"'), s...), '"')
}
