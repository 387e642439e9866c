package backfill

import (
	"fmt"
	"strconv"
	"strings"
)

// Places are a placement by names, for people and files.
type Places []Place

// Place is a number of a job's chunks on a slot, or on a bundle.
type Place struct {
	Slot   string `json:"slot"`
	Chunks int    `json:"chunks"`
}

// Places returns a placement by the names of its slots.
func (s *View) Places(at Placement) Places {
	all := make(Places, len(at))
	for i, c := range at {
		all[i] = Place{Slot: s.slots[c.Slot].Name, Chunks: c.Count}
	}
	return all
}

// String lists the places as name×chunks, separated by blanks.
func (p Places) String() string {
	parts := make([]string, len(p))
	for i, at := range p {
		parts[i] = at.Slot + "×" + strconv.Itoa(at.Chunks)
	}
	return strings.Join(parts, " ")
}

// Short lists the first four places, with the number of chunks where it is not one, and says how many
// more there are.
func (p Places) Short() string {
	const most = 4
	parts := make([]string, 0, most+1)
	for i, at := range p {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(p)-most))
			break
		}
		text := at.Slot
		if at.Chunks > 1 {
			text += fmt.Sprintf(" ×%d", at.Chunks)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
