package page

import (
	"math"
	"slices"
	"strconv"
)

// WithHours returns the table as people see it: behind each column in seconds is one in hours.
// Programs read the CSV, which has the seconds only.
func (t Table) WithHours() Table {
	hours, some := t.Hours()
	if !some {
		return t
	}
	with := t
	with.Columns, with.Rows = nil, make([][]Value, len(t.Rows))
	for i, c := range t.Columns {
		both := c.Unit == "s"
		with.Columns = append(with.Columns, c)
		if both {
			c = hours.Columns[i]
			c.Title += ", hours"
			with.Columns = append(with.Columns, c)
		}
		for n, row := range t.Rows {
			with.Rows[n] = append(with.Rows[n], row[i])
			if both {
				with.Rows[n] = append(with.Rows[n], hours.Rows[n][i])
			}
		}
	}
	return with
}

// Hours returns the table with hours in place of seconds; false if no column is in seconds.
func (t Table) Hours() (Table, bool) {
	in, some := t, false
	in.Columns, in.Rows = slices.Clone(t.Columns), make([][]Value, len(t.Rows))
	for i := range in.Columns {
		seconds := t.Columns[i].Unit == "s"
		if seconds {
			in.Columns[i].Unit, some = "h", true
		}
		for n, row := range t.Rows {
			v := row[i]
			if seconds {
				v = v.inHours()
			}
			in.Rows[n] = append(in.Rows[n], v)
		}
	}
	return in, some
}

// inHours returns an entry in seconds as one in hours, all with two decimals; other entries as they
// are.
func (v Value) inHours() Value {
	if math.IsNaN(v.number) {
		return v
	}
	write := func(seconds float64) string {
		whole, fraction := math.Modf(math.Round(math.Abs(seconds)/36) / 100)
		text := shown(whole) + strconv.FormatFloat(fraction, 'f', 2, 64)[1:]
		if seconds < 0 {
			text = "−" + text
		}
		return text
	}
	hours := v.number / 3600
	out := Value{
		Text: strconv.FormatFloat(hours, 'f', -1, 64), Show: write(v.number), Best: v.Best, number: hours,
	}
	if v.half != nil {
		half := *v.half / 3600
		out.half = &half
		out.Show += "\u202f±\u202f" + write(*v.half)
	}
	return out
}
