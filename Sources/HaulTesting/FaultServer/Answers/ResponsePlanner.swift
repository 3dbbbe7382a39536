/// Creates the answer to a request from the resource and the actions of the matching faults.
struct ResponsePlanner {
  let resource: FaultScript.Resource
  let actions: [Fault.Action]
  let request: RequestFacts
  /// Seconds since 1970.
  let now: Int64
  let port: Int
  let keepsAlive: Bool
  /// The answer of a server of uploads, which faults may still change.
  let serviceAnswer: ServiceAnswer?

  func answer() -> Answer {
    var view = CompliantResponse.View(resource)
    for action in actions { view.apply(action) }
    var draft = CompliantResponse(
      resource: resource, view: view, request: request, now: now, port: port
    ).draft()
    if let serviceAnswer {
      draft.replace(status: serviceAnswer.status, headers: serviceAnswer.headers)
      draft.payload = .bytes(serviceAnswer.body)
    }
    draft.pace = resource.rate.map(Pacer.Pace.rate)
    for action in actions { draft.apply(action, now: now) }
    if request.method == "HEAD" { draft.hasNoBody = true }
    return draft.rendered(keepsAlive: keepsAlive)
  }
}
