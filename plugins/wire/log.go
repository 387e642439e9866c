package wire

// LogLevel is the environment variable with the level that the host logs, so that a plugin need not
// send what nobody sees.
const LogLevel = "CONDOR_BACKFILL_LOG_LEVEL"
