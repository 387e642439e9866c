package chart

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// colour is linear light: red, green and blue from 0 to 1.
type colour [3]float64

func parse(t *testing.T, hex string) (c colour) {
	t.Helper()
	for i := range c {
		v, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		require.NoError(t, err)
		if c[i] = float64(v) / 255; c[i] <= 0.04045 {
			c[i] /= 12.92
		} else {
			c[i] = math.Pow((c[i]+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c colour) times(m [3][3]float64) (out colour) {
	for i, row := range m {
		for j, v := range row {
			out[i] += v * c[j]
		}
	}
	return out
}

// lab returns the colour in Oklab (Ottosson 2020), where distances are about as perceived.
func (c colour) lab() colour {
	lms := c.times([3][3]float64{
		{0.4122214708, 0.5363325363, 0.0514459929},
		{0.2119034982, 0.6806995451, 0.1073969566},
		{0.0883024619, 0.2817188376, 0.6299787005},
	})
	for i, v := range lms {
		lms[i] = math.Cbrt(v)
	}
	return lms.times([3][3]float64{
		{0.2104542553, 0.7936177850, -0.0040720468},
		{1.9779984951, -2.4285922050, 0.4505937099},
		{0.0259040371, 0.7827717662, -0.8086757660},
	})
}

// visions are the colours as seen without one kind of cones (Machado, Oliveira and Fernandes 2009,
// severity 1).
var visions = map[string][3][3]float64{ //nolint:gochecknoglobals // a table
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func contrast(a, b colour) float64 {
	light := func(c colour) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] + 0.05 }
	return max(light(a)/light(b), light(b)/light(a))
}

// Series can be told apart with any colour vision, on both backgrounds, and text can be read.
func TestColours(t *testing.T) {
	for _, dark := range []bool{false, true} {
		colours := map[Ink]colour{}
		for _, i := range inks {
			colours[i.Ink] = parse(t, map[bool]string{false: i.light, true: i.dark}[dark])
		}
		for _, text := range []Ink{inkText, inkMuted, inkAlarm} {
			require.GreaterOrEqual(t, contrast(colours[text], colours[inkGround]), 4.5, text)
		}
		for i := range hues {
			require.GreaterOrEqual(t, contrast(colours[Series(i)], colours[inkGround]), 3.0, Series(i))
			for j := range i {
				for name, vision := range visions {
					var seen [2]colour
					for k, c := range []colour{colours[Series(i)], colours[Series(j)]} {
						c = c.times(vision)
						for n := range c {
							c[n] = min(max(c[n], 0), 1)
						}
						seen[k] = c.lab()
					}
					far := math.Hypot(math.Hypot(seen[0][0]-seen[1][0], seen[0][1]-seen[1][1]), seen[0][2]-seen[1][2])
					require.Greater(t, far, 0.08, "%s and %s, %s, dark: %v", Series(i), Series(j), name, dark)
				}
			}
		}
	}
}
