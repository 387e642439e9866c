package config

import (
	"fmt"
	"math"
	"strconv"
)

// minSpeed is a thousand times slower than the pool itself.
const minSpeed = 0.001

// ParseSpeed reads how many simulated seconds pass in one: a positive number,
// or "max", which is infinity.
func ParseSpeed(text string) (float64, error) {
	if text == "max" {
		return math.Inf(1), nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed >= minSpeed) || math.IsInf(speed, 0) {
		return 0, fmt.Errorf("%q: must be max or a number of at least %v", text, minSpeed)
	}
	return speed, nil
}
