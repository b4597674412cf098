//! Measured inner loops: free functions with primitive arguments, no allocation, no lock.
