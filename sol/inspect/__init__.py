"""Look at runs: in a terminal, as pages and diagrams, in notebooks. Reads trees and events; changes nothing."""
