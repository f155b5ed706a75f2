BEGIN TRANSACTION;
CREATE TABLE events (
	id INTEGER NOT NULL, 
	t FLOAT NOT NULL, 
	type TEXT NOT NULL, 
	node TEXT NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1099511627777,1.7600000001294486523e+09,'run_started','','{"worker":{"kind":"function","options":{"function":"golden_work:work"}},"sol":"rules","sol_model":null,"luna_model":"local","base_url":null,"workspace":"{WORKSPACE}","kind":"workflow","name":"flow","file":"{WORKSPACE}/flow.yaml","program":"flow.yaml","task":"a hut, looked at twice","max_steps":12,"interactive":false,"report_dir":"sol-reports/j722sb","definition":{"flow.yaml":{"":{"initial_step":"dbf9868785714c25","max_steps":"6b51d431df5d7f14","loop_monitors":"26399bc475202646"},"plan":{"persona":"4f53cda18c2baa0c","instruction":"06d6da81558510c4","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"5cd925abce998748","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"0b8eefbf2bfb5a12","parallel":"bb5bb1b3a77487ee"},"reviews":{"persona":"4f53cda18c2baa0c","instruction":"4f53cda18c2baa0c","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"0a98326d1b90e938","parallel":"d249b5c20403ce99"},"facts":{"persona":"4f53cda18c2baa0c","instruction":"253d2b0f07039b8f","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"style":{"persona":"4f53cda18c2baa0c","instruction":"b69ddbab64c82d04","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"slow":{"persona":"4f53cda18c2baa0c","instruction":"d3d7f4d5a6941f0a","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"3754538eda706b24","parallel":"bb5bb1b3a77487ee"},"check":{"persona":"4f53cda18c2baa0c","instruction":"4f53cda18c2baa0c","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"3943db33ad481248","args":"44136fa355b3678a","rules":"ca4f3a6474cff23b","parallel":"bb5bb1b3a77487ee"},"last":{"persona":"4f53cda18c2baa0c","instruction":"71539b1284442a80","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"6c5475f7c3947a25","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"124b9d0a1e21dbeb","parallel":"bb5bb1b3a77487ee"},"monitor-1":{"persona":"4f53cda18c2baa0c","instruction":"61df84330714f10a","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"fcbcf165908dd18a","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"857f1f4b0aa0f5af","parallel":"bb5bb1b3a77487ee"}},"checks.yaml":{"":{"initial_step":"b3f95c301a7f764b","max_steps":"4a44dc15364204a8","loop_monitors":"4f53cda18c2baa0c"},"look":{"persona":"4f53cda18c2baa0c","instruction":"cb765e09ed31dbec","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"4020f44a3461c524","parallel":"bb5bb1b3a77487ee"},"measure":{"persona":"4f53cda18c2baa0c","instruction":"f0fe2ca8fe416ff8","policy":"4f53cda18c2baa0c","knowledge":"4f53cda18c2baa0c","report":"4f53cda18c2baa0c","edit":"74234e98afe7498f","permission_mode":"12ae32cb1ec02d01","allowed_tools":"74234e98afe7498f","pass_previous_response":"b5bea41b6c623f7c","quality_gates":"4f53cda18c2baa0c","worker":"74234e98afe7498f","solve":"fcbcf165908dd18a","call":"12ae32cb1ec02d01","args":"44136fa355b3678a","rules":"fbd4aec35ea6adad","parallel":"bb5bb1b3a77487ee"}}},"warnings":[],"strategy":{"name":"binary","description":"Try a task first; split it in two when a Luna is stuck on it; verify and integrate upwards.","attempt":"first","max_depth":10000,"arity":2,"splitter":"auto","dimensions":["unknown_a_unknown_b","discovery_execution","reproduction_fix","interface_implementation","data_logic","local_integration"],"patience":5,"monitors":{},"max_replans":2,"integrate":"sol","concurrency":4,"context_bytes":4096,"limits":{"timeout_s":null,"inactivity_s":null},"budget":{"calls":null,"tokens":null,"cost":null,"seconds":null,"per_call":{"tokens":null,"cost":null}},"rules":{"report":[{"condition":"SUCCESS","next":"validate"},{"condition":"STUCK","next":"split"},{"condition":"FAILED:premise","next":"replan"},{"condition":"FAILED","next":"split"}],"validation":[{"condition":"passed","next":"accept"},{"condition":"unchecked","next":"accept"},{"condition":"failed:parts","next":"attempt"},{"condition":"failed","next":"split"}],"children":[{"condition":"all(\"success\")","next":"integrate"},{"condition":"any(\"cancelled\")","next":"fail"},{"condition":"any(\"exhausted\")","next":"fail"},{"condition":"any(\"failed\")","next":"replan"},{"condition":"any(\"blocked\")","next":"fail"},{"condition":"all(\"skipped\")","next":"set_aside"},{"condition":"any(\"skipped\")","next":"integrate"}],"depth_limit":[{"condition":"remedy:redefine","next":"redefine"},{"condition":"remedy:ask","next":"ask"},{"condition":"remedy:give_up","next":"give_up"}]}}}');
INSERT INTO "events" VALUES(1099511627778,1.7600000001294486523e+09,'created','plan#1','{"step":"plan","up":"","frame":"","content":"743a6a63e7691fd8","n":1,"iteration":1}');
INSERT INTO "events" VALUES(1099511627779,1.7600000001294486523e+09,'started','plan#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627780,1.76000000014405512806e+09,'reported','plan#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.004478,"report":{"summary":"done","result":"plan went well. [PLAN:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627781,1.76000000014405512806e+09,'started','plan#1','{"kind":"file","n":1}');
INSERT INTO "events" VALUES(1099511627782,1.76000000014896035198e+09,'answer','plan#1','{"kind":"file","n":1,"answer":{"files":{"plan.md":"b7c53671d4fffbfa8f6922423ec98562cf00a2e50aed0f551fd241945d3c8e08"}}}');
INSERT INTO "events" VALUES(1099511627783,1.76000000014896035198e+09,'decided','plan#1','{"section":"rules","rule":0,"kind":"label","condition":"the plan is ready","next":"reviews","read":{"tag":"[PLAN:1]"},"verdict":"the plan is ready"}');
INSERT INTO "events" VALUES(1099511627784,1.76000000014896035198e+09,'settled','plan#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627785,1.76000000014896035198e+09,'created','reviews#1','{"step":"reviews","up":"","frame":"","content":"d8efce30d84b9a86","n":1,"iteration":2,"parallel":true}');
INSERT INTO "events" VALUES(1099511627786,1.76000000014896035198e+09,'created','reviews#1/facts','{"step":"facts","up":"reviews#1","frame":"","content":"b10af52b91ac6c1a","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627787,1.76000000014896035198e+09,'created','reviews#1/style','{"step":"style","up":"reviews#1","frame":"","content":"78bd0e84db4c1724","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627788,1.76000000014896035198e+09,'created','reviews#1/slow','{"step":"slow","up":"reviews#1","frame":"","content":"21795ce1a850de36","inner":true,"n":1,"iteration":2}');
INSERT INTO "events" VALUES(1099511627789,1.76000000014896035198e+09,'started','reviews#1/facts','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627790,1.76000000014896035198e+09,'started','reviews#1/style','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627791,1.76000000014896035198e+09,'started','reviews#1/slow','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627792,1.76000000015696406356e+09,'reported','reviews#1/facts','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.00293,"report":{"summary":"done","result":"facts went well. [FACTS:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627793,1.76000000015696406356e+09,'decided','reviews#1/facts','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[FACTS:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627794,1.76000000015696406356e+09,'settled','reviews#1/facts','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627795,1.76000000015696406356e+09,'reported','reviews#1/style','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.002902,"report":{"summary":"done","result":"style went well. [STYLE:2]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627796,1.76000000015696406356e+09,'decided','reviews#1/style','{"section":"rules","rule":1,"kind":"label","condition":"needs_fix","next":"_","read":{"tag":"[STYLE:2]"},"verdict":"needs_fix"}');
INSERT INTO "events" VALUES(1099511627797,1.76000000015696406356e+09,'settled','reviews#1/style','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627798,1.76000000016246843335e+09,'reported','reviews#1/slow','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.005192,"report":{"summary":"done","result":"slow went well. [SLOW:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627799,1.76000000016246843335e+09,'decided','reviews#1/slow','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[SLOW:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627800,1.76000000016246843335e+09,'settled','reviews#1/slow','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627801,1.76000000016246843335e+09,'decided','reviews#1','{"section":"rules","rule":1,"kind":"aggregate","condition":"any(\"needs_fix\")","next":"plan","read":{"children":[["facts","approved"],["style","needs_fix"],["slow","approved"]]},"verdict":"any(\"needs_fix\")","text":"## facts\nfacts went well. [FACTS:1]\n\n---\n\n## style\nstyle went well. [STYLE:2]\n\n---\n\n## slow\nslow went well. [SLOW:1]"}');
INSERT INTO "events" VALUES(1099511627802,1.76000000016246843335e+09,'settled','reviews#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627803,1.76000000016246843335e+09,'created','monitor-1#1','{"step":"monitor-1","up":"","frame":"","content":"930b45cb0dbb18d0","n":1,"iteration":3,"monitor":0,"proposed":"plan"}');
INSERT INTO "events" VALUES(1099511627804,1.76000000016246843335e+09,'started','monitor-1#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627805,1.76000000016834568981e+09,'reported','monitor-1#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.001534,"report":{"summary":"done","result":"judge went well. [JUDGE:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627806,1.76000000016834568981e+09,'decided','monitor-1#1','{"section":"rules","rule":0,"kind":"label","condition":"the objections become fewer","next":"plan","read":{"tag":"[JUDGE:1]"},"verdict":"the objections become fewer"}');
INSERT INTO "events" VALUES(1099511627807,1.76000000016834568981e+09,'settled','monitor-1#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627808,1.76000000016834568981e+09,'created','plan#2','{"step":"plan","up":"","frame":"","content":"743a6a63e7691fd8","n":2,"iteration":4}');
INSERT INTO "events" VALUES(1099511627809,1.76000000016834568981e+09,'started','plan#2','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627810,1.76000000017430782315e+09,'reported','plan#2','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.001566,"report":{"summary":"done","result":"plan went well. [PLAN:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627811,1.76000000017430782315e+09,'started','plan#2','{"kind":"file","n":1}');
INSERT INTO "events" VALUES(1099511627812,1.76000000017888975139e+09,'answer','plan#2','{"kind":"file","n":1,"answer":{"files":{"plan.md":"b7c53671d4fffbfa8f6922423ec98562cf00a2e50aed0f551fd241945d3c8e08"}}}');
INSERT INTO "events" VALUES(1099511627813,1.76000000017888975139e+09,'decided','plan#2','{"section":"rules","rule":0,"kind":"label","condition":"the plan is ready","next":"reviews","read":{"tag":"[PLAN:1]"},"verdict":"the plan is ready"}');
INSERT INTO "events" VALUES(1099511627814,1.76000000017888975139e+09,'settled','plan#2','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627815,1.76000000017888975139e+09,'created','reviews#2','{"step":"reviews","up":"","frame":"","content":"d8efce30d84b9a86","n":2,"iteration":5,"parallel":true}');
INSERT INTO "events" VALUES(1099511627816,1.76000000017888975139e+09,'created','reviews#2/facts','{"step":"facts","up":"reviews#2","frame":"","content":"b10af52b91ac6c1a","inner":true,"n":2,"iteration":5}');
INSERT INTO "events" VALUES(1099511627817,1.76000000017888975139e+09,'created','reviews#2/style','{"step":"style","up":"reviews#2","frame":"","content":"78bd0e84db4c1724","inner":true,"n":2,"iteration":5}');
INSERT INTO "events" VALUES(1099511627818,1.76000000017888975139e+09,'created','reviews#2/slow','{"step":"slow","up":"reviews#2","frame":"","content":"21795ce1a850de36","inner":true,"n":2,"iteration":5}');
INSERT INTO "events" VALUES(1099511627819,1.76000000017888975139e+09,'started','reviews#2/facts','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627820,1.76000000017888975139e+09,'started','reviews#2/style','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627821,1.76000000017888975139e+09,'started','reviews#2/slow','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627822,1.76000000018610024445e+09,'reported','reviews#2/facts','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.00243,"report":{"summary":"done","result":"facts went well. [FACTS:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627823,1.76000000018610024445e+09,'decided','reviews#2/facts','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[FACTS:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627824,1.76000000018610024445e+09,'settled','reviews#2/facts','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627825,1.76000000018610024445e+09,'reported','reviews#2/style','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.002331,"report":{"summary":"done","result":"style went well. [STYLE:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627826,1.76000000018610024445e+09,'decided','reviews#2/style','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[STYLE:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627827,1.76000000018610024445e+09,'settled','reviews#2/style','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627828,1.76000000019104266171e+09,'reported','reviews#2/slow','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.004648,"report":{"summary":"done","result":"slow went well. [SLOW:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627829,1.76000000019104266171e+09,'decided','reviews#2/slow','{"section":"rules","rule":0,"kind":"label","condition":"approved","next":"_","read":{"tag":"[SLOW:1]"},"verdict":"approved"}');
INSERT INTO "events" VALUES(1099511627830,1.76000000019104266171e+09,'settled','reviews#2/slow','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627831,1.76000000019104266171e+09,'decided','reviews#2','{"section":"rules","rule":0,"kind":"aggregate","condition":"all(\"approved\")","next":"check","read":{"children":[["facts","approved"],["style","approved"],["slow","approved"]]},"verdict":"all(\"approved\")","text":"## facts\nfacts went well. [FACTS:1]\n\n---\n\n## style\nstyle went well. [STYLE:1]\n\n---\n\n## slow\nslow went well. [SLOW:1]"}');
INSERT INTO "events" VALUES(1099511627832,1.76000000019104266171e+09,'settled','reviews#2','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627833,1.76000000019104266171e+09,'created','check#1','{"step":"check","up":"","frame":"","content":"a33885d1cc3451b9","n":1,"iteration":5,"calls":"checks.yaml"}');
INSERT INTO "events" VALUES(1099511627834,1.76000000019104266171e+09,'created','check#1/look#1','{"step":"look","up":"check#1","frame":"check#1","content":"d4680b01b2a64c02","n":1,"iteration":6}');
INSERT INTO "events" VALUES(1099511627835,1.76000000019104266171e+09,'started','check#1/look#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627836,1.76000000020121574401e+09,'reported','check#1/look#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.00603,"report":{"summary":"done","result":"look went well. [LOOK:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627837,1.76000000020121574401e+09,'decided','check#1/look#1','{"section":"rules","rule":0,"kind":"label","condition":"it is there","next":"measure","read":{"tag":"[LOOK:1]"},"verdict":"it is there"}');
INSERT INTO "events" VALUES(1099511627838,1.76000000020121574401e+09,'settled','check#1/look#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627839,1.76000000020121574401e+09,'created','check#1/measure#1','{"step":"measure","up":"check#1","frame":"check#1","content":"b3343bd69baf6e67","n":1,"iteration":7}');
INSERT INTO "events" VALUES(1099511627840,1.76000000020121574401e+09,'started','check#1/measure#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627841,1.76000000021738600732e+09,'reported','check#1/measure#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.006356,"report":{"summary":"done","result":"measure went well. [MEASURE:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627842,1.76000000021738600732e+09,'decided','check#1/measure#1','{"section":"rules","rule":0,"kind":"label","condition":"it fits","next":"_","read":{"tag":"[MEASURE:1]"},"verdict":"it fits","returns":"fine"}');
INSERT INTO "events" VALUES(1099511627843,1.76000000021738600732e+09,'settled','check#1/measure#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627844,1.76000000021738600732e+09,'analysed','check#1','{"ended":"fine","text":"measure went well. [MEASURE:1]"}');
INSERT INTO "events" VALUES(1099511627845,1.76000000021738600732e+09,'decided','check#1','{"section":"rules","rule":0,"kind":"label","condition":"fine","next":"last","read":{"labels":["fine"]},"verdict":"fine"}');
INSERT INTO "events" VALUES(1099511627846,1.76000000021738600732e+09,'settled','check#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627847,1.76000000021738600732e+09,'created','last#1','{"step":"last","up":"","frame":"","content":"33f1d5840dbf47f7","n":1,"iteration":8}');
INSERT INTO "events" VALUES(1099511627848,1.76000000021738600732e+09,'started','last#1','{"kind":"attempt","n":1,"reserve":{"calls":1}}');
INSERT INTO "events" VALUES(1099511627849,1.76000000023746371261e+09,'reported','last#1','{"kind":"attempt","n":1,"usage":{"calls":1},"seconds":0.008496,"report":{"summary":"done","result":"last went well. [LAST:1]","status":"SUCCESS"}}');
INSERT INTO "events" VALUES(1099511627850,1.76000000023746371261e+09,'started','last#1','{"kind":"file","n":1}');
INSERT INTO "events" VALUES(1099511627851,1.76000000024716901775e+09,'answer','last#1','{"kind":"file","n":1,"answer":{"files":{"last.md":"3e61c0b8aae49e9247c83f68a6630e457179b5ec456e4944f958980bf24d9fe2","summary.md":"3e61c0b8aae49e9247c83f68a6630e457179b5ec456e4944f958980bf24d9fe2"}}}');
INSERT INTO "events" VALUES(1099511627852,1.76000000024716901775e+09,'decided','last#1','{"section":"rules","rule":0,"kind":"label","condition":"all is done","next":"COMPLETE","read":{"tag":"[LAST:1]"},"verdict":"all is done"}');
INSERT INTO "events" VALUES(1099511627853,1.76000000024716901775e+09,'settled','last#1','{"state":"success","kind":"","reason":""}');
INSERT INTO "events" VALUES(1099511627854,1.76000000024716901775e+09,'settled','','{"state":"success","kind":"","reason":"","result":"last went well. [LAST:1]"}');
INSERT INTO "events" VALUES(1099511627855,1.76000000024716901775e+09,'run_status','','{"status":"success"}');
CREATE TABLE requests (
	id INTEGER NOT NULL, 
	run INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	t FLOAT NOT NULL, 
	"by" TEXT NOT NULL, 
	taken INTEGER, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE TABLE runs (
	no INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	created_t FLOAT NOT NULL, 
	title TEXT NOT NULL, 
	meta TEXT NOT NULL, 
	status TEXT NOT NULL, 
	summary TEXT, 
	seq INTEGER NOT NULL, 
	updated_t FLOAT NOT NULL, 
	epoch INTEGER NOT NULL, 
	host TEXT, 
	pid INTEGER, 
	started FLOAT, 
	token TEXT, 
	claimed_t FLOAT, 
	beat_t FLOAT, 
	PRIMARY KEY (no), 
	UNIQUE (id)
);
INSERT INTO "runs" VALUES(1,'j722sb',1.7600000001207790375e+09,'flow: a hut, looked at twice','{"kind":"workflow","name":"flow"}','success','{"nodes":16,"calls":12,"tokens":0,"cost":0.0,"elapsed_s":0.121}',79,1.76000000024716901775e+09,1,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE sol_journal (
	version INTEGER NOT NULL
);
INSERT INTO "sol_journal" VALUES(1);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
COMMIT;
