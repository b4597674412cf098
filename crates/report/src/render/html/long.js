"use strict";
(function () {
  var KEYS = { ArrowLeft: [-0.2, 1], ArrowRight: [0.2, 1], "+": [0, 0.5], "-": [0, 2] };
  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
  }
  // What is on the page twice, once in each language, has its figures once.
  function figures(long) {
    var data = JSON.parse(document.getElementById(long.dataset.long).textContent);
    var seconds = data.middle.map(function (_, place) { return (place + 0.5) * data.step; });
    return [seconds, data.most, data.least, data.middle];
  }
  function draw(long) {
    var data = figures(long);
    var end = data[0][data[0].length - 1];
    var words = long.dataset;
    function axis(label) {
      return { label: label, stroke: function () { return colour("--text"); },
        grid: { stroke: function () { return colour("--grid"); } } };
    }
    function line(label, width) {
      return { label: label, stroke: "#0072b2", width: width, points: { show: false } };
    }
    var plot = new uPlot({
      width: Math.max(long.clientWidth, 280), height: 320,
      scales: { x: { time: false } },
      axes: [axis(words.time), axis(words.unit)],
      series: [{ label: words.time }, line(words.most, 0), line(words.least, 0), line(words.middle, 1.5)],
      bands: [{ series: [1, 2], fill: "rgba(0,114,178,.25)" }],
      cursor: { drag: { x: true, y: false } }
    }, data, long);
    new ResizeObserver(function () {
      plot.setSize({ width: Math.max(long.clientWidth, 280), height: 320 });
    }).observe(long);
    function show(from, to) {
      plot.setScale("x", { min: Math.max(from, 0), max: Math.min(to, end) });
    }
    plot.root.tabIndex = 0;
    plot.root.setAttribute("role", "group");
    plot.root.setAttribute("aria-label", words.help);
    plot.root.addEventListener("keydown", function (event) {
      var scale = plot.scales.x, move = KEYS[event.key];
      if (event.key === "0") show(0, end);
      else if (move) {
        var half = (scale.max - scale.min) / 2, centre = scale.min + half + move[0] * 2 * half;
        show(centre - half * move[1], centre + half * move[1]);
      } else return;
      event.preventDefault();
    });
    document.querySelectorAll("input[name=theme]").forEach(function (input) {
      input.addEventListener("change", function () { plot.redraw(false); });
    });
    plot.root.focus();
  }
  document.querySelectorAll(".long").forEach(function (long) {
    long.hidden = false;
    var button = long.querySelector("button");
    button.addEventListener("click", function () {
      button.remove();
      long.querySelector("p").hidden = false;
      draw(long);
    });
  });
})();
