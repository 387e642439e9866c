package slurm

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var (
	errDate = errors.New("is no date such as 2024-05-01T10:00:00 and no Unix time")
	errSpan = errors.New("is no time such as 1-02:03:04, 02:03:04 or 03:04")
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// readDate reads a date of the zone as Unix time; unknown: 0. It may be a Unix time, and have an offset of its
// own, as SLURM_TIME_FORMAT has them printed.
func readDate(text string, zone *time.Location) (int64, error) {
	if unsaid(text) {
		return 0, nil
	}
	if digits(text) {
		return number(text)
	}
	if len(text) < 19 || text[4] != '-' || text[7] != '-' || text[10] != 'T' && text[10] != ' ' ||
		text[13] != ':' || text[16] != ':' {
		return 0, errDate
	}
	var field [6]int
	for i, part := range [...]string{text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19]} {
		n, err := number(part)
		if err != nil {
			return 0, errDate
		}
		field[i] = int(n)
	}
	if month := time.Month(field[1]); month < 1 || month > 12 || field[2] < 1 || field[2] > 31 || field[3] > 23 ||
		field[4] > 59 || field[5] > 60 {
		return 0, errDate
	}
	if rest := text[19:]; rest != "" {
		offset, err := readOffset(rest)
		if err != nil {
			return 0, err
		}
		zone = time.FixedZone("", offset)
	}
	at := time.Date(field[0], time.Month(field[1]), field[2], field[3], field[4], field[5], 0, zone).Unix()
	return max(at, 0), nil
}

// readOffset reads what may stand behind a date: Z, +02:00 or +0200, in seconds.
func readOffset(text string) (int, error) {
	if text == "Z" {
		return 0, nil
	}
	plain := strings.Replace(text[1:], ":", "", 1)
	if text[0] != '+' && text[0] != '-' || len(plain) != 4 || !digits(plain) {
		return 0, errDate
	}
	hours, _ := strconv.Atoi(plain[:2])
	minutes, _ := strconv.Atoi(plain[2:])
	offset := hours*hour + minutes*minute
	if text[0] == '-' {
		offset = -offset
	}
	return offset, nil
}

// readSpan reads how long something was, in seconds, rounded up; unknown: -1. A number alone is in the unit.
func readSpan(text string, unit int64) (int64, error) {
	if unsaid(text) {
		return -1, nil
	}
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	seconds, err := number(days)
	if err != nil {
		return 0, errSpan
	}
	seconds = times(seconds, day)
	clock, fraction, _ := strings.Cut(clock, ".")
	if fraction != "" && !digits(fraction) {
		return 0, errSpan
	}
	units := []int64{hour, minute, 1}
	parts := strings.Split(clock, ":")
	switch {
	case len(parts) > len(units):
		return 0, errSpan
	case hasDays: // D-HH, D-HH:MM
	case len(parts) == 1:
		units = []int64{unit}
	default:
		units = units[len(units)-len(parts):]
	}
	for i, part := range parts {
		n, partErr := number(part)
		if partErr != nil {
			return 0, errSpan
		}
		seconds += times(n, units[i])
	}
	if strings.Trim(fraction, "0") != "" {
		seconds++
	}
	if seconds > maxNumber {
		return 0, errSpan
	}
	return seconds, nil
}

// readLimit reads a time limit, in seconds; none, or unknown: 0. A number alone is in minutes.
func readLimit(text string) (int64, error) {
	switch strings.ToLower(text) {
	case "unlimited", "partition_limit", "infinite":
		return 0, nil
	}
	limit, err := readSpan(text, minute)
	return max(limit, 0), err
}

// Numbers of 32 bits by which Slurm says that there is no value or no bound.
const (
	noValue  = 0xfffffffe
	infinite = 0xffffffff
)
