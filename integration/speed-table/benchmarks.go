package main

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// result is what go test printed of one benchmark.
type result struct {
	keys    []string // of the name's parts such as slots=100, in their order
	values  map[string]string
	figures map[string]float64 // by unit
}

// benchmark runs benchmarks of the policies.
func (m *meter) benchmark(pattern, times string) ([]result, error) {
	m.say("benchmarks %s", pattern)
	out, err := m.output("go", "test", "./backfill/policies", "-run", "^$", "-bench", pattern, "-benchtime", times,
		"-timeout", "60m")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	results := parse(out)
	if len(results) == 0 {
		return nil, fmt.Errorf("no benchmark is like %s", pattern)
	}
	return results, nil
}

// parse reads the lines of benchmarks.
func parse(out []byte) (results []result) {
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		r := result{values: map[string]string{}, figures: map[string]float64{}}
		name := fields[0]
		if i := strings.LastIndexByte(name, '-'); i >= 0 && strings.Trim(name[i+1:], "0123456789") == "" {
			name = name[:i] // without the number of processors
		}
		for _, part := range strings.Split(name, "/")[1:] {
			key, value, _ := strings.Cut(part, "=")
			r.keys = append(r.keys, key)
			r.values[key] = value
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if x, err := strconv.ParseFloat(fields[i], 64); err == nil {
				r.figures[fields[i+1]] = x
			}
		}
		results = append(results, r)
	}
	return results
}

// pivot makes a table of benchmarks: a row for all whose names differ only in the value of one key,
// with the microseconds of each of its values, and behind them other units, as the last of the row has
// them.
func pivot(results []result, across string, units ...string) string {
	var head, names, columns []string
	for _, r := range results {
		for _, key := range r.keys {
			if value := r.values[key]; key == across && !slices.Contains(columns, value) {
				columns = append(columns, value)
			} else if key != across && value != "" && !slices.Contains(head, key) {
				head = append(head, key)
			}
		}
	}
	slices.SortFunc(columns, func(a, b string) int { return len(a) - len(b) })
	cells := map[string][]string{}
	for _, r := range results {
		row := make([]string, 0, len(head)+len(columns)+len(units))
		for _, key := range head {
			row = append(row, r.values[key])
		}
		name := strings.Join(row, " ")
		if cells[name] == nil {
			names = append(names, name)
			cells[name] = append(row, make([]string, len(columns)+len(units))...)
		}
		if i := slices.Index(columns, r.values[across]); i >= 0 {
			cells[name][len(head)+i] = figure(r.figures["ns/op"] / 1000)
		}
		for i, unit := range units {
			if x, has := r.figures[unit]; has {
				cells[name][len(head)+len(columns)+i] = figure(x)
			}
		}
	}
	for _, column := range columns {
		head = append(head, across+" "+thousands(column))
	}
	rows := [][]string{append(head, units...)}
	for _, name := range names {
		rows = append(rows, cells[name])
	}
	return markdown(rows)
}

// thousands writes 10000 as 10,000.
func thousands(digits string) string {
	if len(digits) <= 3 {
		return digits
	}
	return thousands(digits[:len(digits)-3]) + "," + digits[len(digits)-3:]
}

// markdown writes rows, of which the first is the head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
