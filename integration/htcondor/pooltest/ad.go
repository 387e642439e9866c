package pooltest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Ad is a ClassAd as -json prints it: numbers, strings, booleans, lists, and
// expressions as text.
type Ad map[string]any

// Text returns a string attribute, or "" if it is not a string.
func (a Ad) Text(name string) string {
	text, _ := a[name].(string)
	return text
}

// Int returns a number truncated to an integer, or 0 if the attribute is not a number.
func (a Ad) Int(name string) int {
	number, _ := a[name].(float64)
	return int(number)
}

// Job returns the id in a job ad.
func (a Ad) Job() JobID {
	schedd, _, _ := strings.Cut(a.Text("GlobalJobId"), "#")
	return JobID{Schedd: schedd, Cluster: a.Int("ClusterId"), Proc: a.Int("ProcId")}
}

// parseAds parses the output of a command with -json: a list, or nothing.
func parseAds(text string) ([]Ad, error) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, nil
	}
	var ads []Ad
	if err := json.Unmarshal([]byte(text), &ads); err != nil {
		return nil, fmt.Errorf("ads: %w", err)
	}
	return ads, nil
}

// JobID names a job in a pool.
type JobID struct {
	Schedd        string // the schedd's name, such as pool.test or s2@pool.test
	Cluster, Proc int
}

// String returns the ID like "12.0", preceded by the schedd's name unless it is the first schedd.
func (id JobID) String() string {
	text := strconv.Itoa(id.Cluster) + "." + strconv.Itoa(id.Proc)
	if id.Schedd != Host {
		text = id.Schedd + "#" + text
	}
	return text
}

// Values of JobStatus.
const (
	Idle = 1 + iota
	Running
	Removed
	Completed
	Held
)
