//! Plans whose cases run in an order of their own.

use super::*;

#[test]
fn one_ordered_profile_keeps_the_whole_plan_in_order() {
    let in_order = "title = 'T'\ntests = ['b.beta', 'a.alpha']\nordered = true";
    let mut profiles = profiles();
    profiles.push(Profile::parse("in-order", in_order).unwrap());
    let catalog = Catalog {
        workloads: WORKLOADS,
        profiles: &profiles,
    };
    let check = |what: &[&str], ordered: bool, first: &str| {
        let plan = resolve(&request(what), catalog, &host(4)).unwrap();
        assert_eq!((plan.ordered, cases(&plan)[0].as_str()), (ordered, first));
    };
    check(&["all"], false, "a.alpha@1");
    check(&["b.beta"], false, "b.beta@1");
    check(&["in-order"], true, "b.beta@1");
    check(&["a.alpha-big", "in-order"], true, "a.alpha-big@1");
}
