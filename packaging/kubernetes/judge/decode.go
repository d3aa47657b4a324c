package kubernetes

import (
	"errors"
	"fmt"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Objects are the objects of one rendering, by kind.
type Objects struct {
	Deployments     []*apps.Deployment
	Services        []*core.Service
	ConfigMaps      []*core.ConfigMap
	Autoscalers     []*autoscaling.HorizontalPodAutoscaler
	Budgets         []*policy.PodDisruptionBudget
	NetworkPolicies []*networking.NetworkPolicy
	Ingresses       []*networking.Ingress
	Routes          []*gateway.HTTPRoute
	Monitors        []*monitoring.ServiceMonitor
	Count           int
}

// decode reads documents, strictly: an unknown kind, an unknown field, one in capitals or a key that is twice is an error.
func decode(text string) (*Objects, error) {
	objects := &Objects{}
	for number, document := range strings.Split("\n"+text, "\n---\n") {
		fail := func(err error) error { return fmt.Errorf("document %d: %w", number+1, err) }
		content, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return nil, fail(err)
		}
		var kind meta.TypeMeta
		if err := json.UnmarshalCaseSensitivePreserveInts(content, &kind); err != nil {
			return nil, fail(err)
		}
		named := kind.APIVersion + " " + kind.Kind
		var object meta.Object
		switch named {
		case "apps/v1 Deployment":
			object = added(&objects.Deployments)
		case "v1 Service":
			object = added(&objects.Services)
		case "v1 ConfigMap":
			object = added(&objects.ConfigMaps)
		case "autoscaling/v2 HorizontalPodAutoscaler":
			object = added(&objects.Autoscalers)
		case "policy/v1 PodDisruptionBudget":
			object = added(&objects.Budgets)
		case "networking.k8s.io/v1 NetworkPolicy":
			object = added(&objects.NetworkPolicies)
		case "networking.k8s.io/v1 Ingress":
			object = added(&objects.Ingresses)
		case "gateway.networking.k8s.io/v1 HTTPRoute":
			object = added(&objects.Routes)
		case "monitoring.coreos.com/v1 ServiceMonitor":
			object = added(&objects.Monitors)
		default:
			return nil, fail(fmt.Errorf("unknown kind %q", named))
		}
		strict, err := json.UnmarshalStrict(content, object)
		if err != nil {
			return nil, fail(err)
		}
		if len(strict) > 0 {
			return nil, fail(errors.Join(strict...))
		}
		if object.GetName() == "" {
			return nil, fail(errors.New("no name"))
		}
		objects.Count++
	}
	return objects, nil
}

// added appends an empty object, and returns it.
func added[T any](list *[]*T) *T {
	object := new(T)
	*list = append(*list, object)
	return object
}
