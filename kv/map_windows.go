package kv

// initialMap is real file size on Windows.
const initialMap = 64 << 20
