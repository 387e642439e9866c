// Package liveview shows a run while it lasts: on a terminal as a picture that each cycle draws anew,
// elsewhere as a log.
//
//   - view.go: a [View] is the picture, the screens between which keys choose, and the terminal's size;
//   - draw.go: what is on the picture: bars of resources, tables of slots and waiting jobs;
//   - keys.go: what keys do;
//   - terminal_unix.go, terminal_linux.go, terminal_bsd.go, terminal_other.go: reading keys, and
//     leaving the terminal to others after Ctrl-Z;
//   - log.go: the same run as log lines ([Log]).
//
// It knows no policy and no simulator: its caller says what is shown ([Show]).
package liveview
