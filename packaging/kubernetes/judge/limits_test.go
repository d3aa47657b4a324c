package kubernetes

import (
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

// A pod of a manifest by hand, which has limits alone: Salver takes of them what the chart would say.
func TestAPodWithoutVariablesTakesTheSameOfItsLimits(t *testing.T) {
	image, path := must(readImage())(t), must(program())(t)
	onItsOwnMachine(t, func(t *testing.T, folder string) {
		text, _, err := render(must(chartutil.ReadValues(nil))(t))
		if err != nil {
			t.Fatal(err)
		}
		run(t, must(decode(text))(t), image, path, folder, Way{isByHand: true})
	})
}

// byLimits are the variables that the chart makes of limits.
var byLimits = []string{"SALVER_WORKERS", "SALVER_CACHE_SIZE", "SALVER_CONNECTION_MEMORY"}

// Way is how a pod differs from what the chart starts, and its clients from those that take what they are sent.
type Way struct {
	isStalled bool
	// isByHand is true if the variables of byLimits are not set.
	isByHand bool
}

// metrics has the server tell the limits that it was given, and every metric that an autoscaler wants.
func (pod *Pod) metrics() {
	t := pod.t
	port, shown := pod.env["SALVER_METRICS"], ""
	if address := pod.env["SALVER_ADMIN"]; address != "" {
		port, shown = address[strings.LastIndex(address, ":")+1:], token
	}
	url := "http://127.0.0.1:" + port + "/metrics"
	status, text, err := get(url, shown)
	if err != nil || status != 200 {
		t.Fatalf("metrics: %d %v", status, err)
	}
	if shown != "" {
		if status, _, err := get(url, ""); err != nil || status != 401 {
			t.Errorf("metrics without a token: %d %v", status, err)
		}
	}
	number := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` ([0-9.e+]+)$`).FindStringSubmatch(text)
		if found == nil {
			return "none"
		}
		return found[1]
	}
	for name, variable := range map[string]string{
		"salver_cache_limit_bytes": "SALVER_CACHE_SIZE", "salver_connection_memory_limit_bytes": "SALVER_CONNECTION_MEMORY",
		"salver_connections_limit": "SALVER_MAX_CONNECTIONS",
	} {
		wanted := must(size(pod.env[variable]))(t)
		if found := number(name); found != fmt.Sprint(wanted) {
			t.Errorf("%s is %s, %s is %s", name, found, variable, pod.env[variable])
		}
	}
	loops := strings.Count(text, "\nsalver_loop_lag_recent_seconds{")
	wanted := pod.env["SALVER_WORKERS"]
	if pod.isByHand {
		// No more than the machine has.
		wanted = strconv.Itoa(min(must(strconv.Atoi(wanted))(t), runtime.NumCPU()))
	}
	if fmt.Sprint(loops) != wanted {
		t.Errorf("%d loops, of %s", loops, wanted)
	}
	t.Logf("%d workers, a cache of %s, %s for connections", loops, pod.env["SALVER_CACHE_SIZE"], pod.env["SALVER_CONNECTION_MEMORY"])
	for _, one := range pod.objects.Autoscalers {
		for _, metric := range one.Spec.Metrics {
			if metric.Pods == nil {
				continue
			}
			if name := metric.Pods.Metric.Name; !regexp.MustCompile(`(?m)^` + name + `[ {]`).MatchString(text) {
				t.Errorf("%s: there is no metric %s", one.Name, name)
			} else {
				t.Logf("the metric %s is there", name)
			}
		}
	}
}
