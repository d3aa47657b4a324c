package main

import "encoding/json"

// What a client is asked for: the one argument of every program here, as JSON. scripts/clients/cases.py
// makes it.
type order struct {
	Mode     string `json:"mode"`
	Protocol string `json:"protocol"`
	URL      string `json:"url"`
	Buffer   int    `json:"buffer"`
	// Bytes a second; 0 for as fast as it goes.
	Rate   int `json:"rate"`
	Count  int `json:"count"`
	AtOnce int `json:"at_once"`
	// Of the mode "cancel": what is asked for only to be cancelled, for how long, how often.
	Large   string `json:"large"`
	Seconds int    `json:"seconds"`
	Good    int    `json:"good_per_second"`
	Cancels int    `json:"cancels_per_second"`
}

// An order, where nothing is said of the count for one answer.
func parse(text string) (order, error) {
	wanted := order{Buffer: 32 << 10, Count: 1, AtOnce: 1}
	err := json.Unmarshal([]byte(text), &wanted)
	return wanted, err
}
