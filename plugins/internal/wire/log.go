package wire

// LogLevel is the variable that tells a plugin the level which its host shows,
// so that it need not send what nobody sees.
const LogLevel = "CONDOR_BACKFILL_LOG_LEVEL"
