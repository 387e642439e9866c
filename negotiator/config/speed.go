package config

import (
	"fmt"
	"math"
	"strconv"
)

// ParseSpeed reads how many simulated seconds pass in one: a positive number,
// or "max", which is infinity.
func ParseSpeed(text string) (float64, error) {
	if text == "max" {
		return math.Inf(1), nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 0) {
		return 0, fmt.Errorf("speed: %q: must be a positive number or max", text)
	}
	return speed, nil
}
