package main

// older asks for the process' number by a call of the i386.
func older() int32
